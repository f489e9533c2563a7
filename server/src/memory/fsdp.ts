import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { elementsWords } from './formula-words';
import { combine, emptyLedger, type Ledger, post } from './ledger';
import { stateBytes, stepTransient } from './optimizers';
import { rounded } from './play';
import { bitsOf } from './quantization';
import {
  frozenShardsOf,
  ledger,
  NONE,
  type Passage,
  type Plan,
  postStates,
  referenceBytes,
  type Sharding,
  type StagePlan,
  shardGroupSize,
  shardsOf,
  wrapsEndsApart,
} from './sharding-scheme';
import { SOURCES } from './sources';
import type { TracedStage } from './traced-run';
import { allStepped, bytesPer, ownWeights, stageElements, type WeightSums } from './weights';

/** What a run says about FSDP, in bytes per element. */
interface Settings {
  readonly second: boolean;
  /** GPUs of a shard group; 1 where nothing is sharded. */
  readonly shards: number;
  /** FSDP casts what it gathers (`MixedPrecision`, `MixedPrecisionPolicy`). */
  readonly mixed: boolean;
  readonly compute: number;
  /** Trained weights as their shards lie there, and their reduced gradients. */
  readonly trained: number;
  readonly frozen: number;
  readonly reduce: number;
  /** Weights are given back when a unit's forward is over. */
  readonly reshards: boolean;
  readonly offloaded: boolean;
  /** Gradients of all micro steps but the last stay whole, unreduced. */
  readonly unsynced: boolean;
  readonly accumulates: boolean;
  readonly packed: boolean;
  readonly separateEnds: boolean;
  readonly wrapsLayers: boolean;
  /** FSDP1 gathers the next unit of backward before this one's, after it, or not ahead. */
  readonly prefetch: 'pre' | 'post' | 'none';
  readonly forwardPrefetch: boolean;
  /** FSDP2 keeps what replicas add up until backward is over, where it is not the gradient itself. */
  readonly replicates: boolean;
  /**
   * FSDP1: a flat weight of trained and frozen ones has a gradient of them all, zeros where nothing is trained (the backward
   * of `split`, `_flat_param.py`). PEFT wraps its adapters apart (`fsdp_auto_wrap_policy`); Fabric's policy wraps layers.
   */
  readonly mixesFrozen: boolean;
  /**
   * FSDP1: adapters are units of their own. Backward fetches ahead in the order in which forward left the units: a layer asks for
   * its last adapter, and only its first adapter for the layer before (`_exec_order_utils.py`).
   */
  readonly adaptersApart: boolean;
}

function settingsOf(run: TrainingRun, sums: WeightSums): Settings {
  const second = run['parallel.data'] === 'fsdp2';
  const mixed = run['precision.scheme'] === 'fsdp';
  const own = run[mixed ? 'precision.compute' : 'precision.weights'];
  const compute = bytesPer(own);
  const strategy = run['fsdp.strategy'];
  const shards = strategy === 'none' ? 1 : shardsOf(run, sums);
  const accumulates = run['batch.accumulation'] > 1;
  const adaptersApart = !second && run['method.kind'] === 'lora' && run['model.code'] !== 'litgpt';
  return {
    second,
    shards,
    mixed,
    compute,
    trained: mixed ? bytesPer(run['precision.masterWeights']) : compute,
    frozen: bytesPer(run['precision.weights']),
    reduce: bytesPer(run['precision.reduce'] ?? own),
    reshards: strategy !== 'grad-op' && strategy !== 'hybrid-grad-op',
    offloaded: run['offload.parameters'] !== 'none',
    unsynced: accumulates && !run['fsdp.syncEachBatch'],
    accumulates,
    packed: run['quantization.storage'] !== 'uint8' && shards > 1,
    separateEnds: wrapsEndsApart(run),
    wrapsLayers: run['fsdp.wrap'] !== 'none',
    prefetch: second ? 'pre' : (run['fsdp.backwardPrefetch'] ?? 'none'),
    forwardPrefetch: run['fsdp.forwardPrefetch'],
    replicates: second && (strategy === 'hybrid' || strategy === 'hybrid-grad-op'),
    mixesFrozen: !second && !adaptersApart,
    adaptersApart,
  };
}

/** Whether weights are gathered or cast at all. */
function gathers({ shards, mixed }: Settings): boolean {
  return shards > 1 || mixed;
}

/** What passes through memory of one unit. Bytes. */
interface Unit {
  /** Its weights, gathered, in the type of the computation. */
  readonly whole: number;
  /** The shard cast before it is gathered. */
  readonly cast: number;
  /** Its gradients as autograd made them. */
  readonly gradients: number;
  /** Frozen elements that have a gradient all the same. */
  readonly frozenGraded: number;
  /** The same in the type of the reduction. */
  readonly reduced: number;
  /** The shard that the reduction writes, and its cast to the type of the weights. */
  readonly output: number;
  readonly shard: number;
}

const NOTHING: Unit = { whole: 0, cast: 0, gradients: 0, frozenGraded: 0, reduced: 0, output: 0, shard: 0 };

/** The unit of stages, each with how many copies of it belong there. */
function unitOf(
  stages: readonly (readonly [stage: TracedStage, copies: number])[],
  run: TrainingRun,
  settings: Settings,
): Unit {
  const { compute, shards, mixed, reduce, trained: width, packed, second } = settings;
  let trained = 0;
  let frozen = 0;
  let quantized = 0;
  let gradients = 0;
  for (const [stage, copies] of stages) {
    const elements = stageElements(stage, run);
    trained += copies * elements.trained;
    frozen += copies * elements.frozen;
    if (packed) quantized += copies * elements.quantizedBytes;
    for (const weight of ownWeights(stage)) {
      if (weight.trainable) gradients += copies * rounded(weight.localElements * bytesPer(weight.dtype));
    }
  }
  const frozenGraded = settings.mixesFrozen && trained > 0 ? frozen : 0;
  const graded = trained + frozenGraded;
  const whole = (trained + frozen) * compute + quantized;
  // FSDP1 casts the shard of a sharded flat weight; unsharded, the cast is what is gathered. FSDP2 casts from a policy on.
  const casts = mixed && shards > 1;
  const output = (graded * reduce) / shards;
  return {
    whole: gathers(settings) ? whole : 0,
    cast: casts ? whole / shards : 0,
    gradients,
    frozenGraded,
    reduced: graded * reduce,
    output: second || shards > 1 ? output : 0,
    shard: reduce === width ? 0 : (graded * width) / shards,
  };
}

/**
 * FSDP 1 and 2. Weights are held in shards of their own type, gathered per wrapped layer in the compute type, and
 * their gradients reduced to shards when the layer's backward is done. Sources: `_fsdp_param_group.py`,
 * `_fsdp_collectives.py`, `_flat_param.py`, `_runtime_utils.py`, and Accelerate's upcast of trainable weights
 * (`fsdp_utils.py`).
 */
export function fsdp(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[] = []): Sharding {
  const settings = settingsOf(run, sums);
  const {
    second,
    shards,
    trained: trainedBytes,
    reduce,
    compute,
    offloaded,
    unsynced,
    accumulates,
  } = settings;
  const { trained, frozen } = sums;
  const atRest = emptyLedger();
  const host: { label: string; bytes: number }[] = [];
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  // Packed 4-bit weights are sharded only where their storage type is that of the other weights.
  const quantizedShards = run['quantization.storage'] === 'uint8' ? 1 : shards;
  const frozenShards = run['fsdp.strategy'] === 'none' ? 1 : frozenShardsOf(run, sums);
  const weightsShard = (trained * trainedBytes) / shards + (frozen * settings.frozen) / frozenShards;
  // Scales are attributes of a packed weight and no parameters: every GPU has all of them (`Params4bit.quant_state`).
  const kind = run['quantization.kind'];
  const codes = kind === 'none' ? 0 : (sums.quantized * bitsOf(kind, run)) / 8;
  const quantizedShard = codes / quantizedShards + (sums.quantizedBytes - codes);
  const isUnit = (stage: TracedStage) => settings.wrapsLayers && stage.stage.role === 'layer';
  const graded = trained + frozenGraded(stages, run, settings);
  const gradientShard = (graded * trainedBytes) / shards;
  if (offloaded) {
    host.push(
      { label: 'weights', bytes: (weightsShard + quantizedShard) * perNode },
      { label: 'gradients', bytes: gradientShard * perNode },
      {
        label: 'optimizer states',
        bytes: (trained / shards) * stateBytes(run, trainedBytes, allStepped(sums)) * perNode,
      },
    );
  } else {
    post(atRest, 'weights', weightsShard);
    post(atRest, 'quantized-weights', quantizedShard);
    postStates(atRest, run, trained / shards, trainedBytes, allStepped(sums));
  }
  post(atRest, 'reference-model', referenceBytes(run, sums, shards));

  const gradientsBefore = emptyLedger();
  if (unsynced) post(gradientsBefore, 'gradients', graded * (second ? reduce : compute));
  else if (accumulates && !offloaded) post(gradientsBefore, 'gradients', gradientShard);

  const stageForward = (stage: TracedStage): Ledger => {
    if (!settings.reshards || !isUnit(stage)) return NONE;
    // FSDP2: the layer, its all-gather buffer until the next copy-out, and the next layer's all-gather. FSDP1 limits
    // itself to two gathers in flight.
    const { whole } = unitOf([[stage, 1]], run, settings);
    return ledger(['gathered-parameters', whole * (second ? 3 : 2)]);
  };
  const stageBackward = (stage: TracedStage): Ledger => {
    if (!isUnit(stage)) return NONE;
    const { whole, reduced } = unitOf([[stage, 1]], run, settings);
    return ledger(
      ['gathered-parameters', settings.reshards ? whole * (settings.prefetch === 'pre' ? 2 : 1) : 0],
      // The input of the reduce-scatter of this layer; FSDP2 holds the previous layer's until then.
      ['communication-buffers', gathers(settings) ? reduced * (second ? 2 : 1) : 0],
    );
  };
  // Autograd adds to what earlier micro steps left, unless FSDP2 moved that to the type of the reduction; FSDP1's flat
  // gradient is made of whole ones all the same.
  const inPlace = unsynced && second && reduce === compute;
  return {
    atRest,
    throughout: NONE,
    duringBackward: NONE,
    gradientsBefore,
    gradientsAtStep: offloaded ? NONE : ledger(['gradients', gradientShard]),
    duringStep: offloaded
      ? NONE
      : ledger(['optimizer-transients', stepTransient(run, allStepped(sums), trainedBytes, shards)]),
    gradients: inPlace ? 'pass' : 'keep',
    shardAfterStage: !inPlace,
    gradientShardBytes: offloaded || accumulates ? 0 : trainedBytes / shards,
    stageForward,
    stageBackward,
    plan: (stages) => planOf(stages, run, settings),
    host,
  };
}

/**
 * Whole weights of layers that stay gathered while other layers run: those of a pipeline stage's other chunks, where units
 * are not resharded after forward; backward does not either until the last micro batch (PyTorch `pipelining/stage.py`,
 * `backward_maybe_with_nosync`). Bytes.
 */
export function gatheredThroughout(stages: readonly TracedStage[], run: TrainingRun): number {
  const data = run['parallel.data'];
  if (data !== 'fsdp1' && data !== 'fsdp2') return 0;
  const strategy = run['fsdp.strategy'];
  if (strategy !== 'grad-op' && strategy !== 'hybrid-grad-op') return 0;
  const mixed = run['precision.scheme'] === 'fsdp';
  if (shardGroupSize(run) === 1 && !mixed) return 0;
  const width = bytesPer(run[mixed ? 'precision.compute' : 'precision.weights']);
  let bytes = 0;
  for (const stage of stages) {
    if (stage.stage.role !== 'layer') continue;
    const { trained, frozen } = stageElements(stage, run);
    bytes += stage.copies * (trained + frozen) * width;
  }
  return bytes;
}

/** Frozen elements of the model that have gradients because they lie in one flat weight with trained ones. */
function frozenGraded(stages: readonly TracedStage[], run: TrainingRun, settings: Settings): number {
  if (!settings.mixesFrozen) return 0;
  let elements = 0;
  const root: (readonly [TracedStage, number])[] = [];
  for (const stage of stages) {
    if (settings.wrapsLayers && stage.stage.role === 'layer')
      elements += stage.copies * unitOf([[stage, 1]], run, settings).frozenGraded;
    else root.push([stage, stage.copies]);
  }
  return elements + unitOf(root, run, settings).frozenGraded;
}

/** Bytes with what they are, for explanations. */
function gathered(bytes: number, name: string, settings: Settings): Ledger {
  if (bytes === 0) return NONE;
  const sum = emptyLedger();
  const source = settings.second ? SOURCES.fsdp2 : SOURCES.fsdp1;
  post(sum, 'gathered-parameters', bytes, {
    name,
    formula: elementsWords(bytes / settings.compute, settings.compute),
    source,
  });
  return sum;
}

function buffered(bytes: number, name: string, settings: Settings): Ledger {
  if (bytes === 0) return NONE;
  const sum = emptyLedger();
  post(sum, 'communication-buffers', bytes, {
    name,
    formula: elementsWords(bytes / settings.reduce, settings.reduce),
    source: settings.second ? SOURCES.fsdp2 : SOURCES.fsdp1,
  });
  return sum;
}

/** Gradients that are there already and go, or shards that come. */
function graded(bytes: number): Ledger {
  return bytes === 0 ? NONE : ledger(['gradients', bytes]);
}

/** The stages in the order of forward with their units: stages outside any unit belong to the root. */
function planOf(stages: readonly TracedStage[], run: TrainingRun, settings: Settings): Plan {
  const first = stages[0];
  const last = stages.at(-1);
  // A tied weight makes one unit of both ends, gathered with the first and kept: as the root is.
  const tied = stages.some(({ tape }) => tape.weights.some((weight) => weight.tiedTo !== undefined));
  // What heads the model is a unit where it is gathered apart and a weight of its own.
  const apart = (stage: TracedStage) =>
    settings.separateEnds && !tied && (stage === last || stage === first) && ownWeights(stage).length > 0;
  const isUnit = (stage: TracedStage) => (stage.stage.role === 'layer' ? settings.wrapsLayers : apart(stage));
  const rootStages = stages.filter((stage) => !isUnit(stage));
  const root = unitOf(
    rootStages.map((stage) => [stage, stage.stage.role === 'layer' ? stage.copies : 1] as const),
    run,
    settings,
  );
  const units = new Map<TracedStage, Unit>();
  for (const stage of stages) if (isUnit(stage)) units.set(stage, unitOf([[stage, 1]], run, settings));
  const order = stages.filter((stage) => units.has(stage));
  const neighbour = (stage: TracedStage, step: 1 | -1): Unit => {
    let index = stages.indexOf(stage) + step;
    for (; index >= 0 && index < stages.length; index += step) {
      const found = stages[index];
      const unit = found && units.get(found);
      if (unit) return unit;
    }
    return NOTHING;
  };
  const hasRoot = root.whole > 0 || root.gradients > 0;
  const plans = new Map<TracedStage, StagePlan>();
  for (const stage of stages) {
    const unit = units.get(stage);
    const before = order.length > 0 ? neighbour(stage, -1) : NOTHING;
    const after = order.length > 0 ? neighbour(stage, 1) : NOTHING;
    plans.set(
      stage,
      unit
        ? unitPlan(
            unit,
            {
              before,
              after,
              root: hasRoot ? root : NOTHING,
              isTail: stage === last && stage.stage.role !== 'layer',
            },
            settings,
          )
        : rootPlan({ before, after, root }, settings),
    );
  }
  return {
    start: gathered(root.whole, say('weights outside the wrapped layers'), settings),
    stages: plans,
    end: hasRoot
      ? reductionOf(
          root,
          [gathered(-root.whole, say('weights outside the wrapped layers'), settings)],
          settings,
        )
      : [],
  };
}

interface Neighbours {
  /** The units before and after in forward. */
  readonly before: Unit;
  readonly after: Unit;
  readonly root: Unit;
}

/**
 * What there is when a unit's gradients are reduced, on top of `there`; the whole gradients are in the level. FSDP2
 * copies them into the input of the reduce-scatter, then lets them go (`foreach_reduce`). FSDP1 joins them to a flat one
 * while the unit is still whole (the backward of `split`), casts that where the types differ, and lets go of the single
 * ones.
 */
function reductionOf(
  unit: Unit,
  there: readonly Ledger[],
  settings: Settings,
  joining: readonly Ledger[] = [],
): Ledger[] {
  const { second, unsynced, reduce, compute } = settings;
  if (unit.reduced === 0) return [];
  const outputs = unit.output + unit.shard;
  if (second) {
    // Earlier micro steps left what is reduced in the type of the reduction; gradients of this one are added to it.
    const held = unsynced && reduce !== compute ? unit.gradients : 0;
    const left = unsynced ? unit.reduced : unit.gradients;
    const input = buffered(unit.reduced, say('input of the reduce-scatter'), settings);
    return [
      combine(...there, input, graded(-held)),
      combine(
        ...there,
        input,
        graded(-held - left),
        buffered(unit.output, say('output of the reduce-scatter'), settings),
        graded(unit.shard),
      ),
    ];
  }
  const flat = unit.gradients + unit.frozenGraded * compute;
  const joined = unsynced ? 0 : flat;
  const cast = reduce === compute ? 0 : unit.reduced;
  const inputs = buffered(joined + cast, say('flat gradient'), settings);
  return [
    combine(...joining, buffered(flat, say('flat gradient'), settings)),
    combine(...there, inputs, graded(outputs - unit.gradients)),
  ];
}

function unitPlan(
  unit: Unit,
  { before, after, root, isTail }: Neighbours & { isTail: boolean },
  settings: Settings,
): StagePlan {
  const { second, shards, offloaded } = settings;
  const keeps = !settings.reshards || (second && isTail);
  // FSDP2 copies out of the buffer of the all-gather and keeps that until the next one is copied out.
  const buffer = (whole: number) => (second && shards > 1 ? whole : 0);
  const name = say('weights of a layer');
  const weights = gathered(unit.whole, name, settings);
  const ahead = settings.forwardPrefetch && !second;
  const forward = (copy: number, copies: number): Passage => {
    const previous = copy > 0 ? unit : before === NOTHING ? root : before;
    const next = copy < copies - 1 ? unit : after;
    // FSDP2 still names the buffer before while it copies out of its own (`wait_for_unshard`).
    const held =
      buffer(previous.whole) +
      (second ? buffer(unit.whole) + Math.max(unit.cast, unit.whole) : unit.whole + unit.cast);
    return {
      before: gathered(held, say('all-gather'), settings),
      during: combine(
        weights,
        gathered(buffer(unit.whole) + (ahead ? next.whole : 0), say('all-gather'), settings),
      ),
      after: [],
    };
  };
  const backward = (copy: number, copies: number): Passage => {
    const previous = copy > 0 ? unit : after;
    const next = copy < copies - 1 ? unit : before;
    const reshardsNext = settings.reshards;
    const prefetched = reshardsNext && settings.prefetch === 'pre' ? next.whole : 0;
    const own = keeps ? NONE : weights;
    const pending = second ? buffered(previous.reduced, say('input of the reduce-scatter'), settings) : NONE;
    const fetch = keeps ? 0 : second ? buffer(unit.whole) : unit.cast;
    const ahead = gathered(prefetched, say('next layer, gathered ahead'), settings);
    // The root fetches ahead of the loss's backward; a tail of its own when the gradient of its result is there.
    const early = !isTail && !settings.adaptersApart;
    const peakOfGather = early ? Math.max(fetch, prefetched + (prefetched > 0 ? next.cast : 0)) : 0;
    const released = keeps ? gathered(-unit.whole, name, settings) : NONE;
    const behind =
      settings.prefetch === 'post' && reshardsNext
        ? gathered(next.whole, say('next layer, gathered ahead'), settings)
        : ahead;
    return {
      before: combine(own, pending, gathered(peakOfGather, say('all-gather'), settings)),
      during: combine(own, pending, early ? ahead : NONE),
      after: [
        ...(early ? [] : [combine(own, ahead)]),
        ...reductionOf(unit, [released, behind], settings, [own, ahead]),
      ],
    };
  };
  const backwardChange = combine(
    keeps ? gathered(-unit.whole, name, settings) : NONE,
    // What earlier micro steps left whole goes with the reduction.
    settings.unsynced ? graded(-unit.reduced * (second ? 1 : settings.compute / settings.reduce)) : NONE,
    settings.unsynced && !offloaded ? graded(shardOf(unit, settings)) : NONE,
    // Of a unit's own gradients the walk knows; of the zeros beside them it does not.
    settings.accumulates || offloaded
      ? NONE
      : graded((unit.frozenGraded * settings.trained) / settings.shards),
    settings.replicates && unit.shard > 0
      ? buffered(unit.output, say('reduced gradients until backward is over'), settings)
      : NONE,
  );
  return {
    forward,
    backward,
    forwardChange: keeps ? weights : NONE,
    backwardChange,
    reduces: true,
  };
}

/** Reduced gradients of a unit as they stay. */
function shardOf(unit: Unit, { reduce, trained, shards }: Settings): number {
  return ((unit.reduced / reduce) * trained) / shards;
}

/** A stage of the root: gathered from the beginning on; its gradients are reduced when backward is over. */
function rootPlan({ before, after, root }: Neighbours, settings: Settings): StagePlan {
  const { second, shards } = settings;
  const buffer = second && shards > 1 ? (before === NOTHING ? root.whole : before.whole) : 0;
  const passage: Passage = { before: NONE, during: gathered(buffer, say('all-gather'), settings), after: [] };
  const prefetched = settings.reshards && settings.prefetch === 'pre' ? before.whole : 0;
  const back: Passage = {
    before: NONE,
    during: combine(
      gathered(prefetched, say('next layer, gathered ahead'), settings),
      second ? buffered(after.reduced, say('input of the reduce-scatter'), settings) : NONE,
    ),
    after: [],
  };
  return {
    forward: () => passage,
    backward: () => back,
    forwardChange: NONE,
    backwardChange: NONE,
    reduces: false,
  };
}
