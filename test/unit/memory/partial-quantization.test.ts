import assert from 'node:assert/strict';
import sizes from '../../../server/data/quantized-checkpoints.json';
import { estimate } from '../../../server/src/estimate';
import { MOST_PLAIN, withPlainShare } from '../../../server/src/memory/partial-quantization';
import { storedBytes } from '../../../server/src/memory/quantization';
import { traceRun } from '../../../server/src/memory/traced-run';
import { ownWeights } from '../../../server/src/memory/weights';
import { findModel } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import { findRepackaged } from '../../../server/src/model/repackaged';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun, CARD } from './a-run';

const QLORA: RunValues = {
  'quantization.kind': 'nf4',
  'quantization.double': true,
  'quantization.prepared': false,
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'method.kind': 'lora',
  'lora.rank': 8,
  'batch.images': 0,
};

function known(id: string): Model {
  const model = findModel(id) ?? findRepackaged(id)?.model;
  assert.ok(model, id);
  return model;
}

/** Bytes that the files of a checkpoint hold, `plain` of its quantized weights in 16 bits. */
function fileBytes(model: Model, plain: number, values: RunValues = {}): number {
  const run = aRun({ ...QLORA, 'quantization.plainShare': plain, ...values });
  return traceRun(model, run)
    .flatMap((traced) =>
      ownWeights(traced).map((weight) => {
        if (weight.role === 'adapter') return 0;
        return (
          traced.copies * (weight.quantization === 'none' ? 2 * weight.elements : storedBytes(weight, run))
        );
      }),
    )
    .reduce((a, b) => a + b, 0);
}

const NOTEBOOKS = 'https://github.com/unslothai/notebooks/tree/bdda2efc7ad5ae129ea63cd2065d23c391406283/nb';

/** Checkpoints that are quantized as a whole: GB of their files, three digits each, as their pages on the Hub list them. */
const WHOLE: readonly (readonly [model: string, gigabytes: readonly number[], source: string])[] = [
  ['QwQ-32B', [4.93, 4.96, 5, 4.32], 'https://huggingface.co/unsloth/QwQ-32B-bnb-4bit/tree/main'],
  ['Llama-3.2-1B', [1.03], 'https://huggingface.co/unsloth/Llama-3.2-1B-bnb-4bit/tree/021b324'],
  ['Qwen2.5-3B', [2.05], 'https://huggingface.co/unsloth/Qwen2.5-3B-bnb-4bit/tree/ec31567'],
  ['Qwen2.5-14B-Instruct-1M', [5, 4.93], 'https://huggingface.co/unsloth/Qwen2.5-14B-Instruct-1M-bnb-4bit'],
  ['unsloth/phi-4', [4.98, 4.11], 'https://huggingface.co/unsloth/phi-4-bnb-4bit/tree/main'],
  ['Mistral-Small-Instruct-2409', [4.98, 4.98, 2.12], `${NOTEBOOKS}/Mistral_Small_(22B)-Alpaca.ipynb`],
  [
    'Mistral-Small-24B-Instruct-2501',
    [4.98, 4.99, 4.18],
    'https://huggingface.co/unsloth/Mistral-Small-24B-Instruct-2501-bnb-4bit/tree/c267bc2',
  ],
  ['gemma-3-1b-it', [0.965], 'https://huggingface.co/unsloth/gemma-3-1b-it-bnb-4bit/tree/main'],
  ['gemma-7b', [5.57], 'https://huggingface.co/unsloth/gemma-7b-it-bnb-4bit/tree/d308b19'],
  ['Qwen2.5-7B', [5.55], `${NOTEBOOKS}/Qwen2.5_(7B)-Alpaca.ipynb`],
];

describe('checkpoints that keep some of their layers in 16 bits', () => {
  for (const [id, gigabytes] of WHOLE)
    it(`${id}, quantized as a whole: its files to their digits`, () => {
      const published = gigabytes.reduce((sum, file) => sum + file, 0);
      const error = fileBytes(known(id), 0) / 1e9 - published;
      assert.ok(Math.abs(error) <= 0.006 * gigabytes.length, `${error} GB`);
    });

  it('Qwen2.5-VL-7B-Instruct, whose tower is quantized too where the copy is as a whole, and only its projector is not', () => {
    const bytes = (parts: string[]) =>
      fileBytes(known('Qwen2.5-VL-7B-Instruct'), 0, {
        'batch.images': 1,
        'quantization.skippedParts': parts,
      });
    // `Qwen2.5_VL_(7B)-Vision.ipynb` and `Qwen2_5_7B_VL_GRPO.ipynb`, at the same commit.
    assert.ok(Math.abs(bytes(['multi_modal_projector']) / 1e9 - 5.97) <= 0.01);
    assert.ok(Math.abs(bytes(['multi_modal_projector', 'visual']) / 1e9 - 6.9) <= 0.01);
  });

  it('all that are listed hold more than quantized layers, and less than without any', () => {
    for (const { id, gigabytes, source } of sizes.rows) {
      assert.match(source, /^https:\/\//);
      // Their experts are counted as MXFP4 has them, and their tables apart.
      if (/gpt-oss|gemma-3n|granite|11B-Vision/.test(id)) continue;
      const model = known(id);
      const published = gigabytes.reduce((sum, file) => sum + file, 0);
      assert.ok(published > fileBytes(model, 0) / 1e9, id);
      assert.ok(published < fileBytes(model, 1) / 1e9, id);
    }
  });

  it('weights at rest are what the files hold', () => {
    const model = known('unsloth/phi-4');
    const bytes = 10_390_000_000;
    const run = aRun({ ...QLORA, 'quantization.partial': true, 'quantization.checkpointBytes': bytes });
    const found = estimate({ model, run, accelerator: CARD });
    const weights = found.parts
      .filter(({ category }) => category === 'weights' || category === 'quantized-weights')
      .reduce((sum, part) => sum + part.bytes, 0);
    assert.ok(Math.abs(weights - bytes) < 2, String(weights - bytes));
    const share = withPlainShare(run, () => traceRun(model, run))['quantization.plainShare'];
    assert.equal(share?.toFixed(4), '0.0644');
    const part = found.parts.find(({ category }) => category === 'quantized-weights');
    assert.match(part?.formula ?? '', /in the mean: 6\.4 % of them in 16 bits/);
    assert.ok(!found.notes.some((note) => /Which layers/.test(note)));
  });

  it('a size below that of quantized layers, and one above all in 16 bits, leave none and all', () => {
    const model = known('Llama-3.2-1B');
    for (const [bytes, share] of [
      [1e6, 0],
      [1e12, 1],
    ] as const) {
      const run = aRun({ ...QLORA, 'quantization.checkpointBytes': bytes });
      assert.equal(withPlainShare(run, () => traceRun(model, run))['quantization.plainShare'], share);
    }
    const plain = aRun({ 'quantization.checkpointBytes': 1e9 });
    assert.equal(
      withPlainShare(plain, () => []),
      plain,
    );
  });

  it('no listed one keeps a larger share so than is taken where the size is not known', () => {
    const shares = sizes.rows.flatMap(({ id, gigabytes }) => {
      if (/gpt-oss|gemma-3n|granite|11B-Vision/.test(id)) return [];
      const bytes = gigabytes.reduce((sum, file) => sum + file, 0) * 1e9;
      const run = aRun({ ...QLORA, 'quantization.checkpointBytes': bytes });
      return withPlainShare(run, () => traceRun(known(id), run))['quantization.plainShare'] ?? 0;
    });
    const most = Math.max(...shares);
    assert.ok(most <= MOST_PLAIN && most > MOST_PLAIN - 0.01, String(most));
  });

  it('where their size is not known, a run fits only where it does with the largest known share', () => {
    const model = known('Qwen3-8B');
    const of = (values: RunValues, gib = 80) =>
      estimate({
        model,
        run: aRun({ ...QLORA, 'hardware.gpuMemory': gib * 2 ** 30, ...values }),
        accelerator: CARD,
      });
    const open = of({ 'quantization.partial': true });
    const all = of({ 'quantization.plainShare': MOST_PLAIN });
    const none = of({});
    assert.equal(open.peak.processBytes, none.peak.processBytes);
    assert.equal(open.peak.lowerBytes, none.peak.lowerBytes);
    assert.equal(open.peak.upperBytes, all.peak.upperBytes);
    assert.ok(open.notes.some((note) => /Which layers of this checkpoint stay in 16 bits/.test(note)));
    assert.equal(open.verdict, 'fits');
    assert.equal(of({}, 16).verdict, 'fits');
    assert.equal(of({ 'quantization.partial': true }, 16).verdict, 'tight');
    assert.equal(of({ 'quantization.partial': true }, 4).verdict, 'exceeds');
    assert.equal(
      of({ 'quantization.partial': true, 'quantization.kind': 'none' }).notes.some((n) => /Which/.test(n)),
      false,
    );
  });
});
