import type { Weight } from '../../model/tape';
import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { rounded } from '../play';
import { isOutsideFsdp, shardedWeight, wrapsEndsApart } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { bytesPer, ownWeights, stageElements } from '../weights';
import { type FsdpSettings, gathersWeights } from './settings';

/** What passes through memory of one unit. Bytes. */
export interface FsdpUnit {
  /** Its weights, gathered, in the type of the computation. */
  readonly whole: number;
  /** The shard cast before it is gathered. */
  readonly cast: number;
  /** Its gradients as autograd made them. */
  readonly gradients: number;
  /**
   * That of its last weight, where it ends the model: `foreach_reduce` names it until it returns. Of a layer it is that of a
   * norm or a bias.
   */
  readonly lastGradient: number;
  /** Frozen elements that have a gradient all the same. */
  readonly frozenGraded: number;
  /** The same as micro steps without a reduction leave them: in the type of the reduction. */
  readonly accumulated: number;
  /** The input of the reduction, padding included. */
  readonly reduced: number;
  /** The shard that the reduction writes, and its cast to the type of the weights. */
  readonly output: number;
  readonly shard: number;
}

export const NO_UNIT: FsdpUnit = {
  whole: 0,
  cast: 0,
  gradients: 0,
  lastGradient: 0,
  frozenGraded: 0,
  accumulated: 0,
  reduced: 0,
  output: 0,
  shard: 0,
};

/** Weights of a stage that belong to one unit, and how many copies of the stage do. */
interface WrappedPart {
  readonly stage: TracedStage;
  readonly copies: number;
  readonly weights: readonly Weight[];
  /** Modules of the stage that are wrapped one by one, where there are several: each is gathered for itself. */
  readonly modules?: readonly (readonly Weight[])[];
}

/** The unit of weights of stages. Of several modules of a stage what is gathered and reduced is that of the largest. */
export function fsdpUnit(parts: readonly WrappedPart[], run: TrainingRun, settings: FsdpSettings): FsdpUnit {
  const all = unitOf(parts, run, settings);
  const [only] = parts;
  if (parts.length !== 1 || only?.modules === undefined) return all;
  const { stage, copies } = only;
  const each = only.modules.map((weights) => unitOf([{ stage, copies, weights }], run, settings));
  const most = (key: 'whole' | 'cast' | 'gradients' | 'reduced' | 'output' | 'shard') =>
    Math.max(...each.map((unit) => unit[key]));
  return {
    ...all,
    whole: most('whole'),
    cast: most('cast'),
    gradients: most('gradients'),
    reduced: most('reduced'),
    output: most('output'),
    shard: most('shard'),
  };
}

function unitOf(parts: readonly WrappedPart[], run: TrainingRun, settings: FsdpSettings): FsdpUnit {
  const { compute, shards, mixed, reduce, trained: width, packed, second } = settings;
  const trained = { shard: 0, whole: 0 };
  const frozen = { shard: 0, whole: 0 };
  let mixes = false;
  let quantized = 0;
  let gradients = 0;
  let lastGradient = 0;
  let elements = 0;
  for (const { stage, copies, weights } of parts) {
    if (packed) quantized += copies * stageElements(stage, run).quantizedBytes;
    for (const weight of weights) {
      if (weight.quantization !== 'none' || isOutsideFsdp(run, weight)) continue;
      const sum = weight.trainable ? trained : frozen;
      const { shard, whole } = shardedWeight(run, weight);
      sum.shard += copies * shard;
      sum.whole += copies * whole;
      if (!weight.trainable) continue;
      mixes = settings.mixesFrozen;
      elements += copies * weight.localElements;
      // What no sample reaches, such as a tower for sound, is reduced with the others, and autograd makes nothing of it.
      if (stage.tape.operations.length === 0) continue;
      const gradient = rounded(weight.localElements * bytesPer(weight.dtype));
      gradients += copies * gradient;
      lastGradient = stage.stage.role === 'layer' ? 0 : gradient;
    }
  }
  const frozenGraded = mixes ? frozen.whole : 0;
  const graded = trained.whole + frozenGraded;
  const gradedShard = trained.shard + (mixes ? frozen.shard : 0);
  const whole = (trained.whole + frozen.whole) * compute + quantized;
  // FSDP1 casts the shard of a sharded flat weight; unsharded, the cast is what is gathered. FSDP2 casts from a policy on.
  const casts = mixed && shards > 1;
  const output = gradedShard * reduce;
  return {
    whole: gathersWeights(settings) ? whole : 0,
    cast: casts ? (trained.shard + frozen.shard) * compute + quantized / shards : 0,
    gradients,
    lastGradient,
    frozenGraded,
    accumulated: (elements + frozenGraded) * reduce,
    reduced: graded * reduce,
    output: second || shards > 1 ? output : 0,
    shard: reduce === width ? 0 : gradedShard * width,
  };
}

/**
 * Bytes that the reduction of a weight's gradient leaves on the GPU, beyond what earlier micro steps left. What a layer leaves to the
 * root stays whole until backward is over.
 */
export function leftByReduction(
  run: TrainingRun,
  { offloaded, accumulates, trained }: FsdpSettings,
  { left }: Pick<Wrapped, 'left'>,
): (weight: Weight) => number {
  return (weight) => {
    if (left.has(weight)) return rounded(weight.localElements * bytesPer(weight.dtype));
    return offloaded || accumulates ? 0 : shardedWeight(run, weight).shard * trained;
  };
}

/** Frozen elements of the model that have gradients because they lie in one flat weight with trained ones. */
export function frozenGraded(
  stages: readonly TracedStage[],
  run: TrainingRun,
  settings: FsdpSettings,
): number {
  if (!settings.mixesFrozen) return 0;
  const { units, root, outer } = wrappedUnits(stages, run);
  const elements = units.reduce(
    (sum, part) => sum + part.stage.copies * fsdpUnit([part], run, settings).frozenGraded,
    0,
  );
  return elements + fsdpUnit(root, run, settings).frozenGraded + fsdpUnit(outer, run, settings).frozenGraded;
}

/** Bytes of a unit's reduced gradients as they stay on one GPU. */
export function shardOf(unit: FsdpUnit, { second, reduce, trained, shards }: FsdpSettings): number {
  if (second) return (unit.output / reduce) * trained;
  return ((unit.reduced / reduce) * trained) / shards;
}

/** A model as FSDP wraps it. */
export interface Wrapped {
  /** Parts of which each copy is a unit of its own, at most one of a stage, in the order of forward. */
  readonly units: readonly WrappedPart[];
  /** What is left to the root. */
  readonly root: readonly WrappedPart[];
  /** Weights of stages with a unit that are left to the root all the same. */
  readonly left: ReadonlySet<Weight>;
  /** What is left to the root is a unit around the layers, which is over before what ends the model. */
  readonly inner?: boolean;
  /** What the root has around such a unit: a head that is no unit of its own. */
  readonly outer: readonly WrappedPart[];
}

/**
 * The units of a model: its layers where they are wrapped, and what heads and ends it where that is wrapped apart and has
 * weights of its own. A tied weight makes one unit of both ends, gathered with the first and kept: as the root is.
 */
export function wrappedUnits(stages: readonly TracedStage[], run: TrainingRun): Wrapped {
  if (run['fsdp.wrap'] === 'size' && run['parallel.data'] === 'fsdp1') return wrappedBySize(stages, run);
  const wrapsLayers = run['fsdp.wrap'] !== 'none';
  const ends = [stages[0], stages.at(-1)];
  const tied = stages.some(({ tape }) => tape.weights.some((weight) => weight.tiedTo !== undefined));
  const { wrapsEmbeddingApart } = behaviours(run);
  const apart = tied ? [] : wrapsEndsApart(run) ? ends : wrapsEmbeddingApart ? ends.slice(0, 1) : [];
  const isUnit = (stage: TracedStage) =>
    stage.stage.role === 'layer' ? wrapsLayers : apart.includes(stage) && ownWeights(stage).length > 0;
  return {
    units: stages.filter(isUnit).map((stage) => ({ stage, copies: 1, weights: ownWeights(stage) })),
    root: stages.filter((stage) => !isUnit(stage)).map(wholeStage),
    left: new Set(),
    outer: [],
  };
}

const wholeStage = (stage: TracedStage): WrappedPart => ({
  stage,
  copies: stage.copies,
  weights: ownWeights(stage),
});

/**
 * FSDP 1's units by size (`torch/distributed/fsdp/wrap.py`, `_recursive_wrap`, `size_based_auto_wrap_policy`). The wrapped modules of
 * a layer, which are gathered one after the other, count as one unit; what they leave goes to what wraps the layers, which is there as
 * the root is.
 */
function wrappedBySize(stages: readonly TracedStage[], run: TrainingRun): Wrapped {
  const units: WrappedPart[] = [];
  const root: WrappedPart[] = [];
  const left = new Set<Weight>();
  for (const stage of stages) {
    const all = ownWeights(stage);
    const modules = bySize(all, run['fsdp.minParameters'], stage.stage.role === 'layer');
    const wrapped = new Set(modules.flat());
    const inside = all.filter((weight) => wrapped.has(weight));
    const outside = all.filter((weight) => !wrapped.has(weight));
    const several = modules.length > 1 ? { modules } : {};
    if (inside.length > 0) units.push({ stage, copies: 1, weights: inside, ...several });
    if (outside.length > 0 || inside.length === 0)
      root.push({ stage, copies: stage.copies, weights: outside });
    if (inside.length > 0) for (const weight of outside) left.add(weight);
  }
  const isHead = ({ role }: Weight) => role === 'head';
  const around = root.map((part) => ({ ...part, weights: part.weights.filter((one) => !isHead(one)) }));
  const rest = around.reduce((sum, { copies, weights }) => sum + copies * elementsOf(weights), 0);
  if (rest < run['fsdp.minParameters']) return { units, root, left, outer: [] };
  const outer = root.map((part) => ({ ...part, weights: part.weights.filter(isHead) }));
  return { units, root: around, left, inner: true, outer: outer.filter(({ weights }) => weights.length > 0) };
}

const elementsOf = (weights: readonly Weight[]) =>
  weights.reduce((sum, { localElements }) => sum + localElements, 0);

/**
 * Modules that are wrapped, by the weights that each holds itself: one with `least` elements is looked into, and wrapped where what its
 * children leave has as many. `isModule`: the weights are those of one module, and not of several beside each other.
 */
function bySize(weights: readonly Weight[], least: number, isModule: boolean, depth = 0): Weight[][] {
  if (isModule && elementsOf(weights) < least) return [];
  const children = new Map<string, Weight[]>();
  for (const weight of weights) {
    const path = weight.name.split('.');
    // The last word names the parameter of its module.
    const child = path[depth];
    if (child === undefined || depth >= path.length - 1) continue;
    children.set(child, [...(children.get(child) ?? []), weight]);
  }
  const below = [...children.values()].flatMap((each) => bySize(each, least, true, depth + 1));
  const taken = new Set(below.flat());
  const rest = weights.filter((weight) => !taken.has(weight));
  return isModule && elementsOf(rest) >= least ? [...below, rest] : below;
}

/** Bytes of the largest unit that FSDP wraps, root included, in the given width. */
export function largestUnit(run: TrainingRun, stages: readonly TracedStage[], width: number): number {
  const { units, root, outer } = wrappedUnits(stages, run);
  const plain = ({ weights }: WrappedPart) =>
    weights.reduce(
      (sum, { quantization, localElements }) => sum + (quantization === 'none' ? localElements * width : 0),
      0,
    );
  const all = (parts: readonly WrappedPart[]) =>
    parts.reduce((sum, part) => sum + part.copies * plain(part), 0);
  return Math.max(all(root), all(outer), ...units.map(plain));
}
