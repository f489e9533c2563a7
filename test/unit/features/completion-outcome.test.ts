import assert from 'node:assert/strict';
import { completions } from '../../../server/src/features/completion/completion';
import { withOutcomes } from '../../../server/src/features/completion/outcome';
import { Workspace } from '../../../server/src/workspace/analyze';
import { readConfig } from '../../../server/src/workspace/file-cache';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { marked } from './sample';

const URI = 'file:///repo/sft.yaml';

async function offered(textWithMark: string, gpu = 'H100-SXM5-80GB') {
  const { text, position } = marked(textWithMark);
  const workspace = new Workspace(new MemoryHost({ [URI]: text }), {
    settings: () => ({ 'hardware.gpu': gpu, 'hardware.gpus': 1 }),
  });
  const config = readConfig(URI, text);
  assert.ok(config);
  const found = await completions({ ...config, position });
  const tried = await withOutcomes(found, text, (changed) =>
    workspace.preview(URI, new Map([[URI, changed]])),
  );
  return [...tried].sort((a, b) => (a.sort < b.sort ? -1 : 1));
}

const RECIPE = (micro: string, more = '') => `model_name_or_path: Qwen/Qwen2.5-0.5B
torch_dtype: bfloat16
per_device_train_batch_size: ${micro}
gradient_accumulation_steps: 4
gradient_checkpointing: false
max_length: 2048
learning_rate: 1.0e-5
output_dir: out
${more}`;

describe('what completed values would give', () => {
  it('reports the peak of each and puts those first that fit', async () => {
    const values = await offered(RECIPE('|'));
    assert.deepEqual(values.map(({ label }) => label).sort(), ['1', '16', '2', '32', '4', '8']);
    for (const { outcome } of values) assert.match(outcome ?? '', /GiB, /);
    const fits = values.map(({ outcome }) => !/does not fit/.test(outcome ?? ''));
    assert.ok(fits.includes(true) && fits.includes(false), `${values.map(({ outcome }) => outcome)}`);
    assert.deepEqual(
      fits,
      [...fits].sort((a, b) => Number(b) - Number(a)),
    );
  });

  it('leaves values alone where nothing can be estimated', async () => {
    const values = await offered(
      `${RECIPE('|').replace(/^model.*\n/, 'model_name_or_path: no/such-model\n')}`,
    );
    assert.ok(values.length > 0);
    for (const { outcome } of values) assert.doesNotMatch(outcome ?? '', /GiB/);
  });

  it('tries no catalog', async () => {
    const values = await offered(
      'model_name_or_path: |\nlearning_rate: 1.0e-5\nmax_length: 512\npacking: true\n',
    );
    assert.ok(values.length > 100);
  });
});
