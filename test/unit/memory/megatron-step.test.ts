import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { emptyLedger, totalOf } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun } from './a-run';

interface Case {
  readonly id: string;
  readonly run: RunValues;
  readonly model: Record<string, unknown>;
  readonly results: {
    readonly localParameters: number;
    readonly atRest: number;
    readonly forward: { readonly peak: number };
    readonly backward: { readonly peak: number };
    readonly optimizer: { readonly peak: number };
  };
}

const file = path.join(process.cwd(), 'test', 'oracle', 'megatron.json');
const cases: readonly Case[] = JSON.parse(readFileSync(file, 'utf8')).cases;

/**
 * What the recorded attention has beyond a fused one. Scores are computed in a buffer that stays for good (`GlobalMemoryBuffer`,
 * `dot_product_attention.py`), and each layer that keeps its activations has a mask of a byte.
 */
function unfused({ run, model }: Case): { readonly always: number; readonly masks: number } {
  const tokens = run['batch.sequence'] ?? 0;
  const scores = (2 * (run['batch.micro'] ?? 0) * 16 * tokens * tokens) / (run['parallel.tensor'] ?? 1);
  const layers =
    run['activations.checkpointing'] === 'full' ? 1 : Number(model.n_layer ?? model.num_hidden_layers);
  return { always: scores, masks: layers * tokens * tokens };
}

/** Relative errors of our walk, with what fused attention leaves out. */
function compare(item: Case): { readonly id: string; readonly errors: Readonly<Record<string, number>> } {
  const { id, results } = item;
  const run = aRun(item.run);
  const stages = traceRun(aModel(item.model), run);
  const sums = sumWeights(stages, run);
  const sharding = shardingOf(run, sums, stages);
  const { points } = walkStep(stages, run, sharding, emptyLedger());
  const { always, masks } = unfused(item);
  const highest = (...moments: string[]) =>
    always + Math.max(...points.filter((p) => moments.includes(p.moment)).map((p) => p.bytes));
  return {
    id,
    errors: {
      parameters: sums.trained / results.localParameters - 1,
      rest: (totalOf(sharding.atRest) + always) / results.atRest - 1,
      forward: (highest('forward', 'loss') + masks) / results.forward.peak - 1,
      backward: (highest('backward', 'gradient-reduction') + masks) / results.backward.peak - 1,
      step: highest('optimizer-step', 'parameter-gather') / results.optimizer.peak - 1,
    },
  };
}

describe(`whole steps of Megatron-core with its own data parallelism and optimizer (${cases.length} recorded cases)`, () => {
  const rows = cases.map(compare);
  if (process.env.OOMLINT_ORACLE) {
    for (const { id, errors } of rows)
      console.log(
        id.padEnd(40),
        ...Object.entries(errors).map(([key, error]) => `${key} ${(100 * error).toFixed(2)}`),
      );
  }

  it('has cases of each kind', () => {
    assert.ok(cases.length >= 6);
    assert.ok(cases.some(({ run }) => run['parallel.distributedOptimizer'] === false));
    assert.ok(cases.some(({ run }) => (run['parallel.tensor'] ?? 1) > 1));
  });

  // Layer norms, which the recorded model has, have biases that our RMS norms lack.
  it('counts the parameters of a rank within 0.02 %', () => {
    for (const { id, errors } of rows) assert.ok(Math.abs(errors.parameters ?? 1) < 2e-4, id);
  });

  for (const phase of ['rest', 'forward', 'backward', 'step']) {
    it(`${phase}: within 0.5 %`, () => {
      for (const { id, errors } of rows)
        assert.ok(Math.abs(errors[phase] ?? 1) < 0.005, `${id} ${(100 * (errors[phase] ?? 1)).toFixed(2)} %`);
    });
  }
});
