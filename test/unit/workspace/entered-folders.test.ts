import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const LAUNCH =
  'torchrun --nproc_per_node 4 train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir out \\\n' +
  '  --per_device_train_batch_size 1 --max_length 1024 --deepspeed configs/zero3.json\n';
const ZERO =
  '{ "zero_optimization": { "stage": 3 }, "bf16": { "enabled": true }, "train_micro_batch_size_per_gpu": "auto" }';

async function analyze(before: string) {
  const files = {
    'file:///w/src/scripts/run.sh': `#!/bin/bash\n${before}\n${LAUNCH}`,
    'file:///w/src/trainer/configs/zero3.json': ZERO,
    'file:///w/configs/data.txt': '',
  };
  const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze('file:///w/src/scripts/run.sh');
  assert.ok(analysis);
  return {
    missing: analysis.problems.some(
      ({ code, severity }) => code === 'missing-file' && severity === 'warning',
    ),
    noted: analysis.problems.some(
      ({ code, severity }) => code === 'missing-file' && severity === 'information',
    ),
    stage: analysis.resolved.values['zero.stage'],
  };
}

describe('folders that a script enters before it launches', () => {
  it('hold what relative paths name', async () => {
    assert.deepEqual(await analyze('cd src/trainer'), { missing: false, noted: false, stage: 3 });
    assert.deepEqual(await analyze('cd src\ncd trainer'), { missing: false, noted: false, stage: 3 });
    assert.equal((await analyze('cd ../trainer')).missing, false);
  });

  it('are no excuse where they are here and hold no such file', async () => {
    assert.equal((await analyze('')).missing, true);
    assert.equal((await analyze('cd src/scripts')).missing, true);
  });

  it('of another machine may hold it', async () => {
    for (const folder of ['/home/someone/project', '$PROJECT/trainer', '~/trainer', '"$(dirname "$0")/x"']) {
      const { missing, noted } = await analyze(`cd ${folder}`);
      assert.deepEqual({ missing, noted }, { missing: false, noted: true }, folder);
    }
  });

  it('are those before the launch', async () => {
    const files = {
      'file:///w/run.sh': `${LAUNCH}\ncd src/trainer\n`,
      'file:///w/src/trainer/configs/zero3.json': ZERO,
    };
    const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }));
    const analysis = await workspace.analyze('file:///w/run.sh');
    assert.ok(analysis?.problems.some(({ code }) => code === 'missing-file'));
  });
});
