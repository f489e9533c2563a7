import assert from 'node:assert/strict';
import { bytesOf, emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { simulateSteps } from '../../../server/src/memory/simulate';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const BF16: RunValues = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' };
const EIGHT: RunValues = { ...BF16, 'hardware.gpus': 8 };
const zero = (stage: 0 | 1 | 2 | 3): RunValues => ({
  ...EIGHT,
  'parallel.data': 'zero',
  'precision.scheme': 'deepspeed',
  'zero.stage': stage,
});
const fsdp = (data: 'fsdp1' | 'fsdp2'): RunValues => ({
  ...EIGHT,
  'parallel.data': data,
  'precision.scheme': 'fsdp',
});

/** Every gradient is in its place when backward is over: nothing is cast, joined or reduced between it and the optimizer. */
const IN_PLACE: Readonly<Record<string, RunValues>> = {
  'one GPU': BF16,
  DDP: { ...EIGHT, 'precision.scheme': 'autocast', 'parallel.data': 'ddp' },
  'ZeRO 0': zero(0),
  'FSDP 2': fsdp('fsdp2'),
  'FSDP 2, kept': { ...fsdp('fsdp2'), 'fsdp.strategy': 'grad-op' },
};
const SCHEMES: Readonly<Record<string, RunValues>> = {
  ...IN_PLACE,
  'ZeRO 1': zero(1),
  'ZeRO 2': zero(2),
  'ZeRO 3': zero(3),
  'FSDP 1': fsdp('fsdp1'),
};
const ACCUMULATIONS = [1, 4];

function walked(values: RunValues, accumulation: number) {
  const run = aRun({ ...values, 'batch.accumulation': accumulation, 'batch.sequence': 2048 });
  const stages = traceRun(aModel(SMALL_LLAMA), run);
  const sharding = shardingOf(run, sumWeights(stages, run), stages);
  return { run, stages, sharding, walk: walkStep(stages, run, sharding, emptyLedger()) };
}

describe('the plan of a scheme', () => {
  for (const [name, values] of Object.entries(IN_PLACE))
    it(`comes down to the gradients that the scheme states for the optimizer: ${name}`, () => {
      for (const accumulation of ACCUMULATIONS) {
        const { sharding, walk } = walked(values, accumulation);
        const [left, stated] = [walk.afterBackward, sharding.gradientsAtStep].map((ledger) =>
          bytesOf(ledger, 'gradients'),
        );
        assert.ok(stated && stated > 0);
        assert.ok(Math.abs((left ?? 0) / stated - 1) < 1e-6, `${left} and ${stated}`);
      }
    });

  for (const [name, values] of Object.entries(SCHEMES))
    it(`ends with the weights that lie at rest, and asks the allocator for no less than it walks: ${name}`, () => {
      for (const accumulation of ACCUMULATIONS) {
        const { run, stages, sharding, walk } = walked(values, accumulation);
        assert.equal(bytesOf(walk.afterBackward, 'weights'), bytesOf(sharding.atRest, 'weights'));
        const room = Number.POSITIVE_INFINITY;
        const played = simulateSteps(stages, walk, run, sharding, emptyLedger(), room, [1, 1]);
        const share = played.allocated / walk.peak.bytes;
        // Highest points of other streams are added up, though they need not come at one time.
        assert.ok(share > 0.99 && share < 1.3, `${share}`);
      }
    });
});
