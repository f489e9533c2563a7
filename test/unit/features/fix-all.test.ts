import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { textEdits, withEdits } from '../../../server/src/advice/write/text-edits';
import { fixAll, mechanicallyFixed } from '../../../server/src/features/fix-all';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { corpusIsThere, sampled } from '../../corpus/corpus-files';

async function read(name: string, text: string) {
  const uri = `file:///w/${name}`;
  const workspace = new Workspace(new MemoryHost({ [uri]: text }, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze(uri);
  assert.ok(analysis);
  return { analysis, workspace };
}

const fixed = async (name: string, text: string) =>
  mechanicallyFixed((await read(name, text)).analysis, text);

describe('what has one right answer', () => {
  it('is an old spelling, whose comment and value stay', async () => {
    const text =
      '{\n  "train_batch_size": 8,\n  "zero_optimization": {\n    "stage": 3,\n    // at the end\n    "stage3_gather_fp16_weights_on_model_save": true\n  }\n}\n';
    assert.equal(await fixed('ds.json', text), text.replace('gather_fp16', 'gather_16bit'));
  });
  it('is no key whose new name takes another value', async () => {
    const text =
      'base_model: gpt2\nmicro_batch_size: 1\nadapter: lora\nsequence_len: 512\nflash_attention: true\n';
    assert.equal(await fixed('a.yaml', text), text);
  });
  it('is no rename where the new name stands there already', async () => {
    const text =
      '{\n  "train_batch_size": 8,\n  "zero_optimization": {\n    "stage": 3,\n    "stage3_gather_fp16_weights_on_model_save": true,\n    "stage3_gather_16bit_weights_on_model_save": true\n  }\n}\n';
    assert.equal(await fixed('ds.json', text), text);
  });
  it('is nothing in a file without it', async () => {
    const text = '{\n  "train_batch_size": 8,\n  "zero_optimization": { "stage": 3 }\n}\n';
    assert.equal(fixAll((await read('ds.json', text)).analysis, text), undefined);
  });
  it('leaves the meaning of real configs as it is', async () => {
    if (!corpusIsThere) return console.log('      the corpus is not here');
    let count = 0;
    for (const file of sampled(6)) {
      const { analysis } = await read(file.name, file.text).catch(() => ({ analysis: undefined }));
      if (!analysis) continue;
      const after = mechanicallyFixed(analysis, file.text);
      if (after === file.text) continue;
      count++;
      const again = (await read(file.name, after)).analysis;
      for (const [field, origin] of Object.entries(analysis.resolved.origins)) {
        if (origin.kind !== 'file') continue;
        const now: unknown = again.resolved.values[field as 'batch.micro'];
        const before: unknown = analysis.resolved.values[field as 'batch.micro'];
        assert.deepEqual(now, before, `${file.name}: ${field}`);
      }
      assert.equal(withEdits(file.text, textEdits(file.text, after)), after);
      assert.equal(mechanicallyFixed(again, after), after, `${file.name}: twice`);
    }
    console.log(`      ${count} real configs put right`);
  }).timeout(60_000);
});

describe('values that a panel writes', () => {
  it('are written in the words of the family, and the run has them', async () => {
    const text =
      '# oomlint: gpu=A100-SXM4-80GB gpus=8\nbase_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 4 # per GPU\ngradient_accumulation_steps: 1\nsequence_len: 2048\noptimizer: adamw_torch\nbf16: true\n';
    const { analysis, workspace } = await read('a.yaml', text);
    assert.ok(isEstimated(analysis));
    const values = {
      'batch.micro': 2,
      'activations.checkpointing': 'full',
      'optimizer.name': 'adamw-8bit',
    } as const;
    const { files, left } = await planValues(analysis, values, workspace);
    assert.deepEqual(left, []);
    const after = files[0]?.after ?? '';
    assert.match(after, /micro_batch_size: 2 # per GPU/);
    assert.match(after, /gradient_checkpointing: true/);
    assert.match(after, /optimizer: adamw_bnb_8bit/);
    const run = (await read('a.yaml', after)).analysis.resolved.run;
    for (const [field, value] of Object.entries(values)) assert.equal(run?.[field as 'batch.micro'], value);
  });
});
