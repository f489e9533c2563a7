import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { traceRun } from '../../../server/src/memory/traced-run';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

const accelerator = findAccelerator('H100') ?? assert.fail();
const LORA: RunValues = { 'method.kind': 'lora', 'precision.weights': 'bf16', 'batch.images': 0 };

function estimated(id: string, values: RunValues) {
  const model = findModel(id) ?? assert.fail(id);
  return estimate({ run: aRun({ ...LORA, ...values }), model, accelerator });
}

describe('sound in samples', () => {
  it('goes through one linear layer of Gemma 4 12B, a frame for each token', () => {
    const model = findModel('google/gemma-4-12B') ?? assert.fail();
    const projection = (sound: boolean) => {
      const run = aRun({ ...LORA, 'batch.micro': 2, 'batch.sequence': 64, 'batch.sound': sound });
      return traceRun(model, run).find(({ stage }) => stage.name === 'embed_audio') ?? assert.fail();
    };
    const [heard, unheard] = [projection(true).tape, projection(false).tape];
    const flops = ({ operations }: typeof heard) => operations.reduce((sum, one) => sum + one.flops, 0);
    assert.equal(flops(heard), 2 * 2 * 64 * 640 * 3840);
    assert.equal(flops(unheard), 0);
    const elements = ({ weights }: typeof heard) => weights.map((weight) => weight.elements);
    assert.deepEqual(elements(heard), elements(unheard));
  });

  it('is not estimated where a tower hears it, and loads no more', () => {
    for (const id of ['google/gemma-4-E2B', 'google/gemma-3n-E2B']) {
      assert.equal(estimated(id, {}).unmodelled, undefined, id);
      assert.deepEqual(estimated(id, { 'batch.sound': true }).unmodelled, ['sound-tower'], id);
    }
    assert.equal(estimated('google/gemma-4-12B', { 'batch.sound': true }).unmodelled, undefined);
  });

  it('leaves no verdict on models of which something is always computed that is not played', () => {
    for (const [id, feature] of [
      ['sesame/csm-1b', 'speech-generator'],
      ['google/diffusiongemma-26B-A4B-it', 'canvas-decoder'],
      ['microsoft/Phi-4-multimodal-instruct', 'own-adapters'],
      ['moonshotai/Kimi-K3', 'attention-residuals'],
    ] as const) {
      const found = estimated(id, { 'batch.sequence': 256 });
      assert.ok(found.unmodelled?.includes(feature), id);
      assert.equal(found.verdict, 'unknown', id);
    }
  });
});
