import assert from 'node:assert/strict';
import { codeLens } from '../../../server/src/features/code-lens';
import { status, statusBefore } from '../../../server/src/features/status';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const PROJECT = `targets:
  gpu: H100-SXM5-80GB
  gpus: 8
defaults:
  model: meta-llama/Llama-3.1-8B
  sequence: 4096
`;
const RECIPE = `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 1
max_length: 4096
bf16: true
dataset_name: x/y
deepspeed: ds.json
`;
const WHOLE = `{
  "train_micro_batch_size_per_gpu": 1,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 }
}
`;
/** The comma that is not there lets `bf16` slide. */
const BROKEN = WHOLE.replace('true },', 'true }');

async function read(name: string, files: Readonly<Record<string, string>>) {
  const texts = Object.entries(files).map(([file, text]) => [`file:///p/${file}`, text]);
  const host = new MemoryHost(
    { ...Object.fromEntries(texts), 'file:///p/oomlint.yaml': PROJECT },
    { folders: ['file:///p'] },
  );
  const analysis = await new Workspace(host).analyze(`file:///p/${name}`);
  assert.ok(analysis);
  return analysis;
}

describe('a file whose syntax is broken', () => {
  it('gets no verdict: half of it states something else', async () => {
    const whole = await read('ds.json', { 'ds.json': WHOLE });
    assert.ok(whole.estimate && !whole.broken);
    const broken = await read('ds.json', { 'ds.json': BROKEN });
    assert.equal(broken.estimate, undefined);
    assert.deepEqual(broken.broken, ['file:///p/ds.json']);
    assert.deepEqual([...new Set(broken.problems.map(({ code }) => code))], ['syntax']);
    assert.equal(status(broken).text, 'fix the syntax first');
    assert.equal(codeLens(broken)?.title, 'Oomlint: fix the syntax first');
  });

  it('takes the verdict from the runs that it is part of', async () => {
    const recipe = await read('sft.yaml', { 'sft.yaml': RECIPE, 'ds.json': BROKEN });
    assert.equal(recipe.estimate, undefined);
    assert.deepEqual(recipe.broken, ['file:///p/ds.json']);
    assert.match(status(recipe).detail, /^ds\.json cannot be read as it stands/);
  });

  it('keeps the verdict before, as no verdict of now', async () => {
    const last = status(await read('ds.json', { 'ds.json': WHOLE }));
    const now = statusBefore(last);
    assert.equal(now.text, last.text);
    assert.equal(now.verdict, 'unknown');
    assert.match(now.detail, /^Fix the syntax first\. As of the last text/);
  });
});
