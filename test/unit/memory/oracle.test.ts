import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { computeEstimate } from '../../../server/src/compute/flops';
import { emptyLedger } from '../../../server/src/memory/ledger';
import { rounded, savedStorages } from '../../../server/src/memory/play';
import { shardingOf } from '../../../server/src/memory/sharding';
import { type StepWalk, walkStep } from '../../../server/src/memory/step';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

interface Phase {
  readonly peak: number;
  /** The same where FlashAttention-2's backward workspace counts. */
  readonly peakWithFlashWorkspace?: number;
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
    /** Those of products that PyTorch's counter knows, and apart those of experts in groups, where they were recorded. */
    readonly flops: {
      readonly forward: number;
      readonly grouped?: { readonly forward: number };
    };
    /** Without checkpointing: what autograd keeps, by layer. */
    readonly saved?: { readonly layer?: string; readonly perLayer: Readonly<Record<string, number>> };
  };
}

function recorded(name: string): readonly Case[] {
  const file = path.join(process.cwd(), 'test', 'oracle', name);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).cases : [];
}

/** Of transformers 5.15, whose layers with states run other operators without kernels. */
const older = recorded('older_states.json');
/** Of transformers 5.15, which took the balance of experts of all layers at once. */
const olderRouters = recorded('older_routers.json');
const cases = recorded('cases.json');

/** Kernels that a stand-in plays in the recording (`kernels.py`) compute nothing there. */
function standInFlops(stages: readonly TracedStage[]): number {
  const kernel = /\.(?:chunk_kda|mamba_split_conv1d_scan)$/;
  const plays = stages.filter(({ tape }) => tape.operations.some(({ name }) => kernel.test(name)));
  const kernels = plays.flatMap(({ tape, copies }) =>
    tape.operations
      .filter(({ name }) => kernel.test(name) || name.endsWith('.conv1d'))
      .map(({ flops }) => copies * flops),
  );
  return kernels.reduce((sum, flops) => sum + flops, 0);
}

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

/** The stage that a layer of the reference code, such as `encoder.block.3`, belongs to. */
function stageOf(stages: readonly TracedStage[], layer: string): TracedStage | undefined {
  const [path = '', digits = ''] = layer.split(/\.(\d+)$/);
  const layers = stages.filter(({ stage }) => stage.role === 'layer');
  const heard = stages.filter(({ stage }) => stage.compiles && path.endsWith(stage.name));
  const named = layers.filter(({ stage: { name } }) => path === name || path.endsWith(`.${name}`));
  let index = Number(digits);
  return [heard, named, layers]
    .find((found) => found.length > 0)
    ?.find(({ copies }) => {
      index -= copies;
      return index < 0;
    });
}

/** What all layers of a kind read of the model: one storage, but for the copies that autocast makes for each. */
const SHARED: ReadonlySet<string> = new Set(['per_layer_inputs', 'encoder', 'queries']);

/** Bytes that autograd keeps of one layer against the recording, which looks at the middle one. */
function savedError(stages: readonly TracedStage[], item: Case): Record<string, number> {
  const saved = item.results?.saved;
  const expected = saved?.layer === undefined ? undefined : saved.perLayer[saved.layer];
  const traced = saved?.layer === undefined ? undefined : stageOf(stages, saved.layer);
  if (!expected || !traced) return {};
  let bytes = 0;
  for (const storage of savedStorages(traced.tape)) {
    // One storage for all layers: the recording counts it with the first that keeps it.
    if (!SHARED.has(storage.name)) bytes += rounded(storage.bytes);
  }
  return { saved: bytes / expected - 1 };
}

/**
 * Forward phases, never the peak of a step, where more is known: Falcon multiplies by `weight.T`, which autocast copies
 * each time and does not cache; the result of the delta rule's loop is there before queries and keys are decayed; a hybrid layer of Zamba2 checkpoints its Mamba layer inside of itself, whose second input stays.
 */
const FORWARD = /^qwen3.*operators-nonreentrant|^falcon-7b.*-amp-(non)?reentrant|^zamba2.*reentrant/;

/** Backward phases, never the peak of a step: of Mamba 2's scan in PyTorch's operators autocast casts a factor more than ours. */
const BACKWARD = /^mamba2.*amp-operators/;

/** Types that have their balancing biases among their parameters. */
const ERNIE_OR_AFMOE = /^(ernie4_5_moe|ernie4_5_vl_moe|afmoe)$/;

function balancingBiases(stages: readonly TracedStage[]): number {
  let elements = 0;
  for (const { tape, copies } of stages) {
    for (const { name, elements: own } of tape.weights) {
      if (/(correction|expert)_bias$/.test(name)) elements += copies * own;
    }
  }
  return elements;
}

interface Row {
  readonly id: string;
  readonly errors: Readonly<Record<string, number>>;
  /** Every product is among the FLOPs. */
  readonly countsAll: boolean;
  readonly groups: boolean;
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
  // Biases that balance experts are buffers of most transformers models, so its parameters leave them out.
  const balancing = ERNIE_OR_AFMOE.test(model.modelType) ? 0 : balancingBiases(stages);
  const walk = walkStep(stages, run, shardingOf(run, sums, stages), emptyLedger());
  const steady = results.steps.at(-1);
  const micro = steady?.micro.at(-1);
  if (!steady || !micro) return 'no steady step';
  const compute = computeEstimate(stages, run);
  const off = (actual: number, expected: number) => actual / expected - 1;
  // Kernel workspaces are not allocated on fake tensors: what our kernels ask for lies between the two readings.
  const between = (actual: number, { peak, peakWithFlashWorkspace = peak }: Phase) =>
    off(actual, Math.min(Math.max(actual, peak), Math.max(peak, peakWithFlashWorkspace)));
  return {
    id: item.id,
    errors: {
      parameters: off(sums.total - balancing, results.parameters.total),
      trainable: off(sums.totalTrained, results.parameters.trainable),
      forward: off(highest(walk, 'forward', 'loss'), micro.forward.peak),
      backward: between(highest(walk, 'backward'), micro.backward),
      step: off(highest(walk, 'optimizer-step'), steady.optimizer.peak),
      peak: between(walk.peak.bytes, results),
      flops: off(
        compute.forwardFlopsPerStep / run['batch.accumulation'] + maskedFlops(stages) - standInFlops(stages),
        results.flops.forward + (results.flops.grouped?.forward ?? 0),
      ),
      ...savedError(stages, item),
    },
    // PyTorch's FLOP counter knows no grouped matrix product, which experts run in: recordings of them count those apart.
    countsAll:
      results.flops.grouped !== undefined ||
      !stages.some(({ tape }) => tape.weights.some((weight) => weight.expert)),
    groups: results.flops.grouped !== undefined,
  };
}

function described({ id, errors }: Row, key: string): string {
  return `${id} ${(100 * (errors[key] ?? 0)).toFixed(2)} %`;
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
    const known = of.filter(({ errors }) => errors[key] !== undefined);
    const list = (limit: number) =>
      known.filter(({ errors }) => Math.abs(errors[key] ?? 0) > limit).map((row) => described(row, key));
    assert.ok(list(most).length <= (1 - share) * known.length, list(most).join('\n'));
    assert.deepEqual(list(all), []);
  };
  const unlike = (exceptions: RegExp) => rows.filter(({ id }) => !exceptions.test(id));

  it('peaks: within 1 % for 98 % of cases and 3 % for all', () => within('peak', 0.01, 0.98, 0.03));
  it('peaks: none 2 % too low', () => {
    const low = rows.filter(({ errors }) => !((errors.peak ?? Number.NaN) > -0.02));
    assert.deepEqual(
      low.map((row) => described(row, 'peak')),
      [],
    );
  });
  it('kept by a layer: within 1 % for 98 % of cases and 3 % for all', () =>
    within('saved', 0.01, 0.98, 0.03));
  it('backward: within 1 % for 98 % of cases and 3 % for all', () =>
    within('backward', 0.01, 0.98, 0.03, unlike(BACKWARD)));
  it('forward: within 1 % for 95 % of cases and 3 % for all', () =>
    within('forward', 0.01, 0.95, 0.03, unlike(FORWARD)));
  // Reentrant checkpoints collect the routers' logits as others do, and keep no graph of them.
  it('forward of experts that are balanced under checkpoints: within 0.8 %', () => {
    const found = rows.filter(({ id }) => /-router-.*reentrant/.test(id));
    assert.ok(found.length >= 36);
    const off = found.filter(({ errors }) => Math.abs(errors.forward ?? 1) > 0.008);
    assert.deepEqual(
      off.map((row) => described(row, 'forward')),
      [],
    );
  });
  it('forward FLOPs: within 0.5 %', () => {
    const counted = rows.filter((row) => row.countsAll);
    within('flops', 0.005, 1, 0.005, counted);
    assert.ok(counted.filter((row) => row.groups).length >= 24, 'experts of each family');
  });

  it('experts that are balanced, by older code: peaks within 1 %', () => {
    const found = olderRouters.map(compare);
    assert.equal(found.length, 7);
    for (const row of found) {
      assert.ok(typeof row === 'object', String(row));
      if (process.env.OOMLINT_ORACLE) console.log(described(row, 'forward'), described(row, 'peak'));
      assert.ok(Math.abs(row.errors.peak ?? 1) <= 0.01, described(row, 'peak'));
    }
  });

  // Before 5.17 delta rules norm queries and keys in the model's type: ours, in fp32, are a little above.
  it('layers with states without kernels, by older operators: peaks within 2 %, none too low', () => {
    const found = older.map(compare);
    assert.equal(found.length, 18);
    for (const row of found) {
      assert.ok(typeof row === 'object', String(row));
      const peak = row.errors.peak ?? 1;
      assert.ok(peak >= 0 && peak <= 0.02, described(row, 'peak'));
    }
  });
});
