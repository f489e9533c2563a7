import assert from 'node:assert/strict';
import { tracedEstimate } from '../../../server/src/estimate';
import type { RunValues, TrainingRun } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const BUCKET = 500_000_000;
const model = aModel(SMALL_LLAMA);

const PLAIN = {
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'deepspeed',
  'optimizer.name': 'adamw',
  'parallel.data': 'zero',
  'batch.sequence': 64,
  'activations.checkpointing': 'full',
} as const;

/** Buffers of backward as they are asked of the allocator, bytes. */
function simulatedRequests(run: TrainingRun): readonly number[] {
  return tracedEstimate({ run, model, accelerator: CARD }).walk.plan.requests.buffers ?? [];
}

/** Bytes at the highest point, which is the reduction's: the samples are short. */
function peak(stage: number, more: RunValues): number {
  const run = aRun({
    ...PLAIN,
    'hardware.gpus': 8,
    'zero.stage': stage,
    'zero.reduceBucket': BUCKET,
    ...more,
  });
  return tracedEstimate({ run, model, accelerator: CARD }).walk.peak.bytes;
}

/** Within the logits and gathered weights that decide the highest point where nothing is cast. */
const near = (found: number, expected: number) =>
  assert.ok(found <= expected && found > 0.85 * expected, `${found} for ${expected}`);

describe('the type in which ZeRO reduces gradients', () => {
  it('fills the bucket and joins in it at stage 3, casts what is joined before it', () => {
    const more = (stage: number, run: RunValues = {}) =>
      peak(stage, { ...run, 'precision.reduce': 'fp32' }) - peak(stage, run);
    // This rank's part is cast back beside what was joined.
    const back = (2 * BUCKET) / 8;
    const old = { 'version.deepspeed': '0.17.1' } as const;
    near(more(3), BUCKET * (2 + 2) + back);
    // Before 0.17.2 the bucket is in 16 bits, and all of it is cast.
    near(more(3, old), BUCKET * (4 + 2) + back);
    for (const stage of [1, 2]) near(more(stage), BUCKET * 4);
  });

  it('is fp32 where ranks share sequences, unless a type of their own is stated at stage 3', () => {
    const shared = (stage: number, more: RunValues) => peak(stage, { 'parallel.ulysses': 8, ...more });
    const none = { 'zero.sequenceReduce': 'none' } as const;
    const bf16 = { 'zero.sequenceReduce': 'bf16' } as const;
    for (const stage of [0, 1, 2, 3])
      assert.equal(shared(stage, {}), shared(stage, { ...none, 'precision.reduce': 'fp32' }), `${stage}`);
    assert.ok(shared(3, {}) > shared(3, none) + 3 * BUCKET);
    for (const stage of [0, 3]) assert.equal(shared(stage, bf16), shared(stage, none));
    for (const stage of [1, 2]) assert.equal(shared(stage, bf16), shared(stage, {}));
    // The type of plain reductions is not that of these.
    assert.equal(shared(3, { ...bf16, 'precision.reduce': 'fp32' }), shared(3, bf16));
  });

  it('casts a gradient that is larger than the bucket by itself', () => {
    const small = { 'zero.reduceBucket': 1_000_000 } as const;
    const more = peak(3, { ...small, 'precision.reduce': 'fp32' }) - peak(3, small);
    // The head's, of 32,000 x 2,048 elements.
    assert.ok(more > 0 && more <= 32_000 * 2048 * 4, `${more}`);
  });

  it('keeps blocks for the fp32 copy of an offloaded gradient on the stream of the reduction', () => {
    const reserved = (gpus: number, place: 'none' | 'cpu') => {
      const values = { ...PLAIN, 'hardware.gpus': gpus, 'zero.stage': 3, 'zero.reduceBucket': 1_000_000 };
      const run = aRun({ ...values, 'offload.optimizer': place, 'offload.parameters': place });
      return simulatedRequests(run);
    };
    // The head's gradient, 32,000 x 2,048: in bf16 and in fp32, the part of this rank.
    assert.deepEqual(reserved(1, 'cpu'), [32_000 * 2048 * 6]);
    assert.deepEqual(reserved(8, 'cpu'), [(32_000 * 2048 * 6) / 8]);
    assert.deepEqual(reserved(8, 'none'), [2_000_000]);
  });
});
