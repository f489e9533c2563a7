import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { traceRun } from '../../../server/src/memory/traced-run';
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

describe("Unsloth's loss in chunks of one buffer", () => {
  const [MIB, width, rows] = [2 ** 20, 2048, 128_256];
  const scratch = (tokens: number, values: RunValues = {}) => {
    const model = findModel('meta-llama/Llama-3.2-1B') ?? assert.fail();
    const run = aRun({
      'method.kind': 'lora',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'autocast',
      'loss.implementation': 'fused-chunks',
      'kernels.unsloth': true,
      'hardware.gpu': 'A100-SXM4-80GB',
      'batch.micro': 1,
      'batch.sequence': tokens,
      ...values,
    });
    const operations = traceRun(model, run).flatMap(({ tape }) => tape.operations);
    return operations.find(({ name }) => name.endsWith('.fused_loss'))?.forwardScratch;
  };
  // Beside the logits: the tokens, their gradient in fp32 and in bf16.
  const ofToken = width * (2 + 4 + 2);

  it('has 512 tokens at least, and no more than there are', () => {
    assert.equal(scratch(2048), 512 * (rows * 4 + ofToken));
    assert.equal(scratch(257), 256 * (rows * 4 + ofToken));
  });

  it('goes by tiles of 256 MiB where a frozen head scores 4096 tokens, or on small cards', () => {
    const ofTile = width * (2 + 4) + 8 * 8 * 4;
    assert.equal(scratch(4096), 512 * (rows * 4 + ofToken));
    assert.equal(scratch(4097), 256 * MIB + 4096 * ofTile);
    const small = { 'hardware.gpu': 'L4' } as const;
    assert.equal(scratch(2049, small), 2048 * (16_384 * 4 + ofTile));
    assert.equal(scratch(8193, { 'hardware.gpu': 'T4' }), 512 * (rows * 4 + ofToken));
    assert.equal(scratch(8193, { 'method.kind': 'full' }), 512 * (rows * 4 + ofToken));
  });

  it('has logits in the type of the product where the card multiplies into no fp32', () => {
    assert.equal(scratch(2048, { 'hardware.gpu': 'MI300X' }), 512 * (rows * 2 + ofToken));
  });
});
