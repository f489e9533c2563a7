import assert from 'node:assert/strict';
import { projectLens } from '../../../server/src/features/project-file-help';
import { speakLanguage } from '../../../server/src/wording/language';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const PROJECT =
  'targets:\n  gpu: H100\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';
const config = (micro: number) =>
  JSON.stringify({
    train_micro_batch_size_per_gpu: micro,
    bf16: { enabled: true },
    zero_optimization: { stage: 3 },
  });

describe('above a project file', () => {
  let users: Analysis[];
  before(async () => {
    const files = {
      'file:///w/oomlint.yaml': PROJECT,
      'file:///w/ds_small.json': config(1),
      'file:///w/ds_large.json': config(64),
    };
    const workspace = new Workspace(new MemoryHost(files));
    const found = await Promise.all(
      Object.keys(files)
        .slice(1)
        .map((uri) => workspace.analyze(uri)),
    );
    users = found.filter((one) => one !== undefined);
    assert.deepEqual(
      [...workspace.dependents('file:///w/oomlint.yaml')].sort(),
      users.map(({ uri }) => uri).sort(),
    );
  });
  after(() => speakLanguage(undefined));

  it('stands how many configs it serves, and how many do not fit', () => {
    const lens = projectLens(users);
    assert.equal(lens?.title, 'Used by 2 configs, 1 does not fit');
    assert.match(lens?.tooltip ?? '', /^ds_large\.json: Does not fit: .*\nds_small\.json: Fits: /);
    assert.equal(projectLens(users.slice(0, 1))?.title, 'Used by 1 config');
    assert.equal(projectLens([]), undefined);
  });

  it('stands the same in Russian', async () => {
    await speakLanguage('ru');
    assert.equal(projectLens(users)?.title, 'Для 2 конфигов, не помещается 1');
  });
});
