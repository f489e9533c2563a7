import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

const accelerator = findAccelerator('A100-80GB') ?? assert.fail();

/** Bytes of logits and loss for each logit, at the peak of a run whose logits are most of it. */
function perLogit(name: string, vocabulary: number, values: RunValues): number {
  const model = findModel(name) ?? assert.fail(name);
  const batch = { 'batch.micro': 2, 'batch.sequence': 8192 };
  const run = aRun({
    'method.kind': 'lora',
    'lora.rank': 8,
    'activations.checkpointing': 'full',
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'loss.implementation': 'in-place',
    'kernels.unsloth': true,
    ...batch,
    ...values,
  });
  const { parts } = estimate({ run, model, accelerator });
  const logits = parts.find(({ category }) => category === 'logits-and-loss')?.bytes ?? 0;
  return logits / (2 * 8192 * vocabulary);
}

const near = (actual: number, wanted: number) => assert.ok(Math.abs(actual - wanted) < 0.05, `${actual}`);

describe("Unsloth's loss over logits of the whole batch", () => {
  it('returns them, and Accelerate copies them in fp32 under autocast', () => {
    near(perLogit('meta-llama/Llama-3.2-1B', 128_256, { 'precision.scheme': 'autocast' }), 2 + 4);
    near(perLogit('meta-llama/Llama-3.2-1B', 128_256, { 'precision.scheme': 'native' }), 2);
  });

  it('caps them within its kernel', () => {
    near(perLogit('google/gemma-2-2b', 256_000, { 'precision.scheme': 'autocast' }), 2 + 4);
  });

  it('is that of other trainers where it is not Unsloth: nothing is returned in fp32', () => {
    const own = { 'kernels.unsloth': false, 'precision.scheme': 'autocast' } as const;
    near(perLogit('meta-llama/Llama-3.2-1B', 128_256, own), 2);
  });
});
