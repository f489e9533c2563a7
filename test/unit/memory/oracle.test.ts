import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { computeEstimate } from '../../../server/src/compute/flops';
import { emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { type StepWalk, walkStep } from '../../../server/src/memory/step';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

interface Phase {
  readonly peak: number;
}
interface Case {
  readonly id: string;
  readonly run: RunValues;
  readonly model: Record<string, unknown>;
  readonly error?: string;
  readonly results?: {
    readonly parameters: { readonly total: number; readonly trainable: number };
    readonly steps: readonly {
      readonly micro: readonly { readonly forward: Phase; readonly backward: Phase }[];
      readonly optimizer: Phase;
    }[];
    readonly peak: number;
    readonly peakWithFlashWorkspace: number;
    readonly flops: { readonly forward: number; readonly step: number };
  };
}

const file = path.join(process.cwd(), 'test', 'oracle', 'cases.json');
const cases: readonly Case[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).cases : [];

function highest(step: StepWalk, ...moments: string[]): number {
  return Math.max(...step.points.filter((p) => moments.includes(p.moment)).map((p) => p.bytes));
}

/** PyTorch's counter takes attention kernels for unmasked; ours counts the pairs that a mask leaves. */
function maskedFlops(stages: readonly TracedStage[]): number {
  let flops = 0;
  for (const { tape, copies } of stages) {
    for (const operation of tape.operations) {
      flops += copies * ((operation.unmaskedFlops ?? operation.flops) - operation.flops);
    }
  }
  return flops;
}

interface Row {
  readonly id: string;
  readonly errors: Readonly<Record<string, number>>;
  readonly hasExperts: boolean;
}

/** Relative errors of our walk against the recorded run: parameters, FLOPs and the highest bytes of each phase. */
function compare(item: Case): Row | string {
  const { results } = item;
  if (!results) return item.error ?? 'no result';
  const model = modelFromConfig(item.model, item.id, 'inline');
  if ('error' in model) return model.error;
  const run = aRun(item.run);
  const stages = traceRun(model, run);
  const sums = sumWeights(stages, run);
  const walk = walkStep(stages, run, shardingOf(run, sums), emptyLedger());
  const steady = results.steps.at(-1);
  const micro = steady?.micro.at(-1);
  if (!steady || !micro) return 'no steady step';
  const compute = computeEstimate(stages, run);
  const off = (actual: number, expected: number) => actual / expected - 1;
  return {
    id: item.id,
    errors: {
      parameters: off(sums.total, results.parameters.total),
      trainable: off(sums.totalTrained, results.parameters.trainable),
      forward: off(highest(walk, 'forward', 'loss'), micro.forward.peak),
      backward: off(highest(walk, 'backward'), micro.backward.peak),
      step: off(highest(walk, 'optimizer-step'), steady.optimizer.peak),
      peak: off(walk.peak.bytes, results.peak),
      flops: off(
        compute.forwardFlopsPerStep / run['batch.accumulation'] + maskedFlops(stages),
        results.flops.forward,
      ),
    },
    // PyTorch's FLOP counter knows no grouped matrix product, which experts run in.
    hasExperts: stages.some(({ tape }) => tape.weights.some((weight) => weight.expert)),
  };
}

describe(`the walk against real models under PyTorch (${cases.length} recorded cases)`, () => {
  const rows: Row[] = [];
  const refused: string[] = [];
  before(() => {
    for (const item of cases) {
      const row = compare(item);
      if (typeof row === 'string') refused.push(`${item.id}: ${row}`);
      else rows.push(row);
    }
    if (process.env.OOMLINT_ORACLE) {
      for (const { id, errors } of rows) {
        const text = Object.entries(errors).map(([k, v]) => `${k} ${(100 * v).toFixed(2)}`);
        console.log(`${id.padEnd(60)} ${text.join('  ')}`);
      }
      console.log(refused.join('\n'));
    }
  });

  it('has cases', () => assert.ok(rows.length > 0));

  it('meets every parameter count exactly', () => {
    for (const { id, errors } of rows) {
      assert.equal(errors.parameters, 0, id);
      assert.equal(errors.trainable, 0, id);
    }
  });

  const within = (key: string, most: number, share: number, all: number, of = rows) => {
    const wrong = of.filter((row) => Math.abs(row.errors[key] ?? 0) > most);
    const worst = of.filter((row) => Math.abs(row.errors[key] ?? 0) > all);
    const list = wrong.map((row) => `${row.id} ${(100 * (row.errors[key] ?? 0)).toFixed(2)} %`).join('\n');
    assert.ok(wrong.length <= (1 - share) * of.length, `${wrong.length} of ${of.length}\n${list}`);
    assert.equal(worst.length, 0, list);
  };

  it('peaks: within 1 % for 95 % of cases and 3 % for all', () => within('peak', 0.01, 0.95, 0.03));
  it('forward FLOPs: within 0.5 %', () => {
    const counted = rows.filter((row) => !row.hasExperts);
    within('flops', 0.005, 1, 0.005, counted);
  });
});
