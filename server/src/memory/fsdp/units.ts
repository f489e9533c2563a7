import type { Weight } from '../../model/tape';
import type { TrainingRun } from '../../run/fields';
import { rounded } from '../play';
import { shardedWeight, wrapsEndsApart } from '../sharding-scheme';
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

/** The unit of stages, each with how many copies of it belong there. */
export function fsdpUnit(
  stages: readonly (readonly [stage: TracedStage, copies: number])[],
  run: TrainingRun,
  settings: FsdpSettings,
): FsdpUnit {
  const { compute, shards, mixed, reduce, trained: width, packed, second } = settings;
  const trained = { shard: 0, whole: 0 };
  const frozen = { shard: 0, whole: 0 };
  let quantized = 0;
  let gradients = 0;
  let lastGradient = 0;
  let elements = 0;
  for (const [stage, copies] of stages) {
    if (packed) quantized += copies * stageElements(stage, run).quantizedBytes;
    for (const weight of ownWeights(stage)) {
      if (weight.quantization !== 'none') continue;
      const sum = weight.trainable ? trained : frozen;
      const { shard, whole } = shardedWeight(run, weight);
      sum.shard += copies * shard;
      sum.whole += copies * whole;
      if (!weight.trainable) continue;
      elements += copies * weight.localElements;
      const gradient = rounded(weight.localElements * bytesPer(weight.dtype));
      gradients += copies * gradient;
      lastGradient = stage.stage.role === 'layer' ? 0 : gradient;
    }
  }
  const mixes = settings.mixesFrozen && trained.whole > 0;
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

/** Bytes that the reduction of a weight's gradient leaves on the GPU, beyond what earlier micro steps left. */
export function leftByReduction(
  run: TrainingRun,
  { offloaded, accumulates, trained }: FsdpSettings,
): (weight: Weight) => number {
  return (weight) => (offloaded || accumulates ? 0 : shardedWeight(run, weight).shard * trained);
}

/** Frozen elements of the model that have gradients because they lie in one flat weight with trained ones. */
export function frozenGraded(
  stages: readonly TracedStage[],
  run: TrainingRun,
  settings: FsdpSettings,
): number {
  if (!settings.mixesFrozen) return 0;
  const { units, root } = wrappedUnits(stages, run);
  const elements = units.reduce(
    (sum, stage) => sum + stage.copies * fsdpUnit([[stage, 1]], run, settings).frozenGraded,
    0,
  );
  return elements + fsdpUnit(root, run, settings).frozenGraded;
}

/** Bytes of a unit's reduced gradients as they stay on one GPU. */
export function shardOf(unit: FsdpUnit, { second, reduce, trained, shards }: FsdpSettings): number {
  if (second) return (unit.output / reduce) * trained;
  return ((unit.reduced / reduce) * trained) / shards;
}

/** A model as FSDP wraps it. */
export interface Wrapped {
  /** Stages of which each copy is a unit of its own, in the order of forward. */
  readonly units: readonly TracedStage[];
  /** What is left to the root, each with how many copies of it belong there. */
  readonly root: readonly (readonly [stage: TracedStage, copies: number])[];
}

/**
 * The units of a model: its layers where they are wrapped, and what heads and ends it where that is wrapped apart and has
 * weights of its own. A tied weight makes one unit of both ends, gathered with the first and kept: as the root is.
 */
export function wrappedUnits(stages: readonly TracedStage[], run: TrainingRun): Wrapped {
  const wrapsLayers = run['fsdp.wrap'] !== 'none';
  const ends = [stages[0], stages.at(-1)];
  const tied = stages.some(({ tape }) => tape.weights.some((weight) => weight.tiedTo !== undefined));
  const apart = wrapsEndsApart(run) && !tied;
  const isUnit = (stage: TracedStage) =>
    stage.stage.role === 'layer'
      ? wrapsLayers
      : apart && ends.includes(stage) && ownWeights(stage).length > 0;
  return {
    units: stages.filter(isUnit),
    root: stages.filter((stage) => !isUnit(stage)).map((stage) => [stage, stage.copies] as const),
  };
}

/** Bytes of the largest unit that FSDP wraps, root included, in the given width. */
export function largestUnit(run: TrainingRun, stages: readonly TracedStage[], width: number): number {
  const { units, root } = wrappedUnits(stages, run);
  const plain = (stage: TracedStage) =>
    ownWeights(stage).reduce(
      (sum, { quantization, localElements }) => sum + (quantization === 'none' ? localElements * width : 0),
      0,
    );
  const ofRoot = root.reduce((sum, [stage, copies]) => sum + copies * plain(stage), 0);
  return Math.max(ofRoot, ...units.map(plain));
}
