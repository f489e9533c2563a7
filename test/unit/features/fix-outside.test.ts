import assert from 'node:assert/strict';
import { fixActions, verdictOf } from '../../../server/src/features/fix-actions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const RECIPE = `# oomlint: gpu=H100 gpus=8
model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 64
max_length: 8192
bf16: true
dataset_name: d
learning_rate: 1.0e-5
output_dir: o
deepspeed: ../out/ds.json
`;
const ZERO =
  '{"zero_optimization": {"stage": 0}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 64}\n';

async function titles(folders: readonly string[]): Promise<readonly string[]> {
  const files = { 'file:///repo/in/sft.yaml': RECIPE, 'file:///repo/out/ds.json': ZERO };
  const workspace = new Workspace(new MemoryHost(files, { folders: [...folders] }));
  const analysis = await workspace.analyze('file:///repo/in/sft.yaml');
  const problem = analysis && verdictOf(analysis);
  assert.ok(analysis && problem);
  const actions = await fixActions(analysis, problem.range, workspace);
  const both = actions.filter(({ edits }) => edits.some(({ uri }) => uri === 'file:///repo/out/ds.json'));
  assert.ok(both.length > 0);
  return both.map(({ title }) => title);
}

describe('a quick fix that changes other files', () => {
  it('names one that no open folder holds in its title', async () => {
    for (const title of await titles(['file:///repo/in'])) assert.match(title, /\/repo\/out\/ds\.json/);
  });

  it('names two files where all are in the folders', async () => {
    for (const title of await titles(['file:///repo']))
      assert.match(title, /, in (?:\/repo\/out\/ds\.json|ds\.json and sft\.yaml|sft\.yaml and ds\.json)$/);
  });
});
