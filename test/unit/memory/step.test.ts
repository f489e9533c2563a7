import assert from 'node:assert/strict';
import { emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { type StepWalk, walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const MIB = 2 ** 20;

function walk(values: RunValues): StepWalk {
  const run = aRun({ 'batch.micro': 2, 'batch.sequence': 2048, ...values });
  const stages = traceRun(aModel(SMALL_LLAMA), run);
  return walkStep(stages, run, shardingOf(run, sumWeights(stages, run), stages), emptyLedger());
}

function highest(step: StepWalk, moment: string): number {
  return Math.max(...step.points.filter((p) => p.moment === moment).map((p) => p.bytes)) / MIB;
}

const BF16 = { 'precision.weights': 'bf16', 'precision.compute': 'bf16', 'optimizer.name': 'sgd' } as const;
const AUTOCAST = {
  'precision.weights': 'fp32',
  'precision.compute': 'bf16',
  'precision.scheme': 'autocast',
  'optimizer.name': 'sgd',
} as const;

/**
 * MiB that a step of this model peaks at under PyTorch 2.6, simulated with fake tensors: loss, backward, step. The
 * simulated model held the last layer's result during the loss, and not the final norm's, unlike transformers: up to
 * 32 MiB between them.
 */
const SIMULATED: readonly [string, RunValues, number, number, number?][] = [
  ['bf16', BF16, 5313, 5547],
  ['bf16, checkpointing', { ...BF16, 'activations.checkpointing': 'full' }, 2493, 2727],
  ['fp32 under autocast', AUTOCAST, 7896, 8146],
  ['fp32 under autocast, checkpointing', { ...AUTOCAST, 'activations.checkpointing': 'full' }, 4564, 4414],
  [
    'fp32 under autocast, non-reentrant checkpointing',
    { ...AUTOCAST, 'activations.checkpointing': 'full', 'activations.reentrant': false },
    4564,
    4382,
  ],
  [
    'bf16, checkpointing, AdamW foreach',
    { ...BF16, 'activations.checkpointing': 'full', 'optimizer.name': 'adamw' },
    4561,
    4795,
    5170,
  ],
];

describe('a walked step against PyTorch', () => {
  for (const [name, values, loss, backward, step] of SIMULATED) {
    it(`${name}: within one percent`, () => {
      const walked = walk(values);
      const near = (actual: number, expected: number) =>
        assert.ok(Math.abs(actual / expected - 1) < 0.01, `${actual.toFixed(0)} MiB for ${expected}`);
      near(highest(walked, 'loss'), loss);
      near(highest(walked, 'backward'), backward);
      if (step) near(highest(walked, 'optimizer-step'), step);
    });
  }

  it('holds the gradients of earlier micro steps from the beginning of the last', () => {
    const once = walk({ ...BF16, 'activations.checkpointing': 'full' });
    const thrice = walk({ ...BF16, 'activations.checkpointing': 'full', 'batch.accumulation': 3 });
    const gradients = 1034;
    assert.ok(Math.abs(highest(thrice, 'loss') - highest(once, 'loss') - gradients) < 2);
  });

  it('returns to where it began', () => {
    for (const values of [BF16, AUTOCAST, { ...AUTOCAST, 'activations.checkpointing': 'full' } as const]) {
      const walked = walk(values);
      const ends = walked.points.filter((p) => p.moment === 'gradient-reduction');
      const begin = walked.points[0]?.bytes ?? 0;
      const gradients = values['precision.weights'] === 'bf16' ? 1034 : 2068;
      assert.ok(Math.abs((ends[0]?.bytes ?? 0) / MIB - begin / MIB - gradients) < 1);
    }
  });
});
