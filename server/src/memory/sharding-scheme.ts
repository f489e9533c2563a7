import type { Weight } from '../model/tape';
import type { Source } from '../results/source';
import { behaviours } from '../run/behaviours';
import { modelParallelSize } from '../run/derive';
import type { TrainingRun } from '../run/fields';
import { combine, emptyLedger, type LabelWords, type Ledger, post } from './ledger';
import { deviceStateBytes, type SteppedTensor } from './optimizers';
import { upcastsRest } from './quantization';
import { frozenModelBytes } from './reference-models';
import { SOURCES } from './sources';
import { expertTensorParallel, type TracedStage } from './traced-run';
import { bytesPer, type WeightSums } from './weights';

/**
 * A data-parallel scheme, described once: what it holds, gathers and buffers at which moment, as additions to the plain step.
 * Bytes per GPU. The walk of a step, the requests that are played on the allocator, evaluation, loading, saving, host
 * memory and explanations all read it from here; none of them knows a scheme.
 */
export interface Sharding {
  /** Over how many GPUs it splits what weights need. */
  readonly splits: Splits;
  /** How its parts are explained. */
  readonly explains: SchemeWords;
  /** Between steps: weights, masters, states, permanent buffers. */
  readonly atRest: Ledger;
  /** From the first forward to the end of backward of every micro step. */
  readonly throughout: Ledger;
  /** Gradients that are already there when the last micro step begins. */
  readonly gradientsBefore: Ledger;
  /** Gradients of the step before that go between forward and backward; undefined where none are. */
  readonly gradientsThroughForward?: Ledger;
  /** Gradients there when the optimizer steps. */
  readonly gradientsAtStep: Ledger;
  /** Beside states and gradients while the optimizer steps. */
  readonly duringStep: Ledger;
  /** What becomes of a weight gradient within a stage. */
  readonly gradients: 'keep' | 'pass';
  /** What is there when, stage by stage: the order of gathers and reductions. */
  readonly plan: (stages: readonly TracedStage[]) => Plan;
  /** Bytes per node. */
  readonly host: readonly { readonly label: string; readonly bytes: number }[];
  /** Page-locked buffers of one process in it, with how many there are of each size. */
  readonly pinned?: readonly (readonly [bytes: number, count: number])[];
  /** GPUs hold whole weights of which each steps a part: all get what the others stepped, in place, after the step. */
  readonly gathersStepped?: boolean;
  /** Optimizer states are made before the first step, not in it. */
  readonly statesFirst?: boolean;
  /** How what lies at rest comes of the model before the first step. Unset: it stays as it was loaded. */
  readonly loading?: Loading;
  /** How a checkpoint is put together. Unset: tensors are copied from where they lie, a file at a time. */
  readonly saving?: Saving;
}

/** What explanations of a scheme's parts follow. */
export interface SchemeWords {
  /** Code that gathers whole weights; undefined where none does. */
  readonly gathers?: Source;
  /** Code that reduces gradients. */
  readonly reduces: Source;
  /** Elements of a bucket that is allocated whole; undefined where buffers are as large as what is reduced. */
  readonly bucket?: number;
  /** Weights lie joined to one flat tensor, cut into partitions of one size (adapters among them), or one for each wrapped unit. */
  readonly flat?: 'partitions' | 'units';
}

/** GPUs that share one copy of each of these: 1 where every GPU has all of it. */
export interface Splits {
  readonly weights: number;
  readonly gradients: number;
  /** Optimizer states, and the masters that are stepped. */
  readonly states: number;
}

/** What is known of a GPU while its model is loaded. Ledgers and bytes of one GPU. */
export interface BeforeSteps {
  /** What lasts the whole run whatever the scheme. */
  readonly constant: Ledger;
  /** The part of `Sharding.atRest` that holds weights. */
  readonly weights: Ledger;
  /** Bytes that the GPU offers to the allocator. */
  readonly available: number;
}

/** What lies on a GPU at a moment of loading, all of it. Bytes per GPU. */
export interface LoadingMoment {
  readonly label: string;
  readonly ledger: Ledger;
  /** It is made elsewhere where it does not fit. */
  readonly yields?: boolean;
}

/** The events of loading, in which a model comes to lie as the scheme holds it. */
export interface Loading {
  /** Moments on the GPU before the weights are in place, in their order. */
  readonly moments: (before: BeforeSteps) => readonly LoadingMoment[];
  /** One process of a node reads the checkpoint for all of them. */
  readonly readsOnce: boolean;
  /** A model that is made is split module by module while it is made: no process holds it whole. */
  readonly makesParts?: boolean;
  /** What each process holds on the host beside the checkpoint. Bytes of one process. */
  readonly host: readonly { readonly label: string; readonly bytes: number }[];
  /** Units are wrapped on the stream of the activations, where they leave blocks cached (`wrapFsdp1`). */
  readonly wrapsUnits?: boolean;
}

/** The events of saving. */
export interface Saving {
  /** What is gathered at a time on the GPU. Undefined: nothing, weights are copied from where they lie. */
  readonly gathered?: {
    readonly bytes: number;
    readonly label: string;
    readonly formula: string;
    readonly source: string;
  };
  /** What processes hold on the host when whole weights are saved. Bytes of one node. */
  readonly host: readonly { readonly label: string; readonly bytes: number }[];
}

/** Marks bytes of a category beside what lies there; nothing where there are none. */
export function marked(
  label: string,
  there: Ledger,
  category: Parameters<typeof post>[1],
  bytes: number,
  words: LabelWords,
  yields?: boolean,
): LoadingMoment[] {
  if (bytes <= 0) return [];
  const ledger = combine(there);
  post(ledger, category, bytes, words);
  return [{ label, ledger, yields }];
}

/** How a plan's tensors are asked of the allocator, where that is not one tensor per trained weight. Bytes. */
export interface StepRequests {
  /** At most on streams of their own: the allocator keeps blocks apart by stream, so their highest points add up. */
  readonly otherStreams?: number;
  /** Gathered from the first forward to the end of the step, among the activations. */
  readonly gathered?: number;
  /** Buffers of backward, which go when it is over. */
  readonly buffers?: readonly number[];
  /** When the buffers are made: before the loss's gradient, or with the first gradients of weights. */
  readonly beforeLoss?: boolean;
  /** Gradients that stay come one by one with the buffers; else when the buffers are gone. */
  readonly keptAlong?: boolean;
  /** What is made once backward is over and goes at once. */
  readonly atEnd?: number;
  /** What the optimizer step takes beside states and gradients. */
  readonly step?: readonly number[];
}

/** What a scheme has on top of the level while one copy of a stage passes. Bytes per GPU, in the order of the calls. */
export interface Passage {
  /** Before it begins. */
  readonly before: Ledger;
  /** While it runs. */
  readonly during: Ledger;
  /** When it is over: its gradients are reduced, whole ones are still there. */
  readonly after: readonly Ledger[];
  /**
   * Where the stage runs in two halves: what there is in place of `during` while the other one runs, the loss beside the head or the
   * recomputation before backward, and of `before` in between.
   */
  readonly otherHalf?: { readonly during: Ledger; readonly enters: Ledger };
}

/** How a scheme treats the copies of a stage. */
export interface StagePlan {
  /** By the copy's number in the order of the pass, of so many. */
  readonly forward: (copy: number, copies: number) => Passage;
  readonly backward: (copy: number, copies: number) => Passage;
  /** What each copy leaves behind, gradients apart. */
  readonly forwardChange: Ledger;
  readonly backwardChange: Ledger;
  /**
   * Bytes of the shard that a weight's whole gradient gives way to when it is over. Undefined: they stay until backward is.
   */
  readonly reducesTo?: (weight: Weight) => number;
  /** Bytes of weights that lie among the activations while a copy runs, and of the input of the reduction after it. */
  readonly unsharded?: number;
  readonly reduced?: number;
  /** Copies of backward that differ from their neighbours, beside the first and last two. */
  readonly watch?: readonly number[];
}

/** The stages of one step under a scheme. */
export interface Plan {
  /** Gathered from the step's beginning to its end. */
  readonly start: Ledger;
  /** From the loss's gradient to the end of backward. */
  readonly backward: Ledger;
  readonly stages: ReadonlyMap<TracedStage, StagePlan>;
  /** On top of the level when backward is over, one moment after the other. */
  readonly end: readonly Ledger[];
  readonly requests: StepRequests;
}

/** The scheme of a run for the weights of the given stages. */
export type ShardingOf = (run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]) => Sharding;

/** Nothing of any category; never written to. */
export const NONE = emptyLedger();

/** Every GPU has all of everything. */
export const UNSPLIT: Splits = { weights: 1, gradients: 1, states: 1 };

/** Replicas whose gradients are reduced by DDP or the like. */
export const REPLICAS: SchemeWords = { reduces: SOURCES.ddp };

/** A step without gathers and reductions. */
const BARE: Plan = { start: NONE, backward: NONE, stages: new Map(), end: [], requests: {} };

/** The plan of a scheme that neither gathers nor reduces along the way. */
export const unplanned = (): Plan => BARE;

/** A ledger of the given posts, bytes per GPU. */
export function ledger(...posts: readonly (readonly [Parameters<typeof post>[1], number])[]): Ledger {
  const sum = emptyLedger();
  for (const [category, bytes] of posts) post(sum, category, bytes);
  return sum;
}

/** GPUs that hold different samples: all GPUs over tensor, pipeline, context and Ulysses groups. */
export function dataParallelSize(run: TrainingRun): number {
  return Math.max(1, Math.floor(run['hardware.gpus'] / modelParallelSize(run)));
}

/** GPUs that one shard group spans: ZeRO and FSDP shard over the context-parallel ranks too. */
export function shardGroupSize(run: TrainingRun): number {
  const all = dataParallelSize(run) * run['parallel.context'] * run['parallel.ulysses'];
  if (run['parallel.data'] === 'zero') return Math.min(all, run['zero.micsShard'] ?? all);
  if (run['fsdp.strategy'] === 'hybrid' || run['fsdp.strategy'] === 'hybrid-grad-op') {
    const replicas = run['parallel.replicate'] > 1 ? run['parallel.replicate'] : run['hardware.nodes'];
    return Math.max(1, Math.floor(all / replicas));
  }
  return Math.max(1, Math.floor(all / run['parallel.replicate']));
}

/**
 * Whether FSDP reduces the gradients of every micro batch. It does unless it is set not to (`set_requires_gradient_sync`,
 * `no_sync`); the schedules of pipelining tell it so (PyTorch `pipelining/stage.py`, `backward_maybe_with_nosync`).
 */
export function reducesEachBatch(run: TrainingRun): boolean {
  const stated = run['fsdp.syncEachBatch'];
  if (stated !== undefined) return stated;
  if (run['parallel.pipeline'] > 1) return false;
  const { defersFsdp1Reduction, defersFsdp2Reduction } = behaviours(run);
  return !(run['parallel.data'] === 'fsdp2' ? defersFsdp2Reduction : defersFsdp1Reduction);
}

/**
 * Whether FSDP wraps what heads and ends the model apart from its root: where the run states it, and under FSDP 2 by
 * Accelerate from 1.14 on (`fsdp_utils.py`, `fsdp2_prepare_model`), which reads no setting for it.
 */
export function wrapsEndsApart(run: TrainingRun): boolean {
  const second = run['parallel.data'] === 'fsdp2' && run['fsdp.wrap'] !== 'none';
  return run['fsdp.separateEnds'] ?? (second && behaviours(run).wrapsEndsApart);
}

/**
 * GPUs that a trained weight's shards lie on, in the mean over weights. Experts that are split over GPUs already have fewer
 * copies to share: shards x tensor / (expert x expert-tensor) (DeepSpeed `utils/groups.py`, `_create_expert_and_data_parallel`;
 * torchtitan `parallel_dims.py`, `efsdp`).
 */
export function shardsOf(run: TrainingRun, sums: WeightSums): number {
  return meanShards(run, sums.trained, sums.expertTrained);
}

/** GPUs that a frozen weight's shards lie on in the mean, where it is sharded too. */
export function frozenShardsOf(run: TrainingRun, sums: WeightSums): number {
  return meanShards(run, sums.frozen, sums.expertFrozen);
}

function meanShards(run: TrainingRun, all: number, experts: number): number {
  const shards = shardGroupSize(run);
  if (experts === 0 || run['parallel.expert'] === 1) return shards;
  return all / ((all - experts) / shards + experts / expertShards(run));
}

/** GPUs that an expert's shards lie on. */
function expertShards(run: TrainingRun): number {
  const shards = shardGroupSize(run);
  if (run['parallel.expert'] === 1) return shards;
  const ranks = run['parallel.expert'] * expertTensorParallel(run);
  return Math.max(1, (shards * run['parallel.tensor']) / ranks);
}

/** Elements of a weight under FSDP. */
interface Sharded {
  /** Of its largest shard. */
  readonly shard: number;
  /** Of what is gathered of it and scattered into its shards: all of them, padding included. */
  readonly whole: number;
}

/**
 * A weight split over a shard group. FSDP 2 splits the first dimension and pads every shard to the size of the first one
 * (`_fsdp_param.py`, `_init_sharded_param`): a stack of experts comes down to one expert and no further. FSDP 1 splits flat
 * weights of whole units, where padding is nothing.
 */
export function shardedWeight(run: TrainingRun, weight: Weight): Sharded {
  const { localElements: elements, rows } = weight;
  const shards =
    run['fsdp.strategy'] === 'none' ? 1 : weight.expert ? expertShards(run) : shardGroupSize(run);
  const inside = weight.expert && behaviours(run).splitsFewExpertsInside && rows < shards;
  if (run['parallel.data'] !== 'fsdp2' || inside || shards === 1)
    return { shard: elements / shards, whole: elements };
  const shard = (Math.ceil(rows / shards) * elements) / rows;
  return { shard, whole: shards * shard };
}

/** Whether FSDP leaves a weight alone: one of experts that this GPU holds whole, where they are not wrapped. */
export function isOutsideFsdp(run: TrainingRun, { expert }: Weight): boolean {
  return expert && !run['fsdp.gathersWholeExperts'] && run['parallel.expert'] > 1 && expertShards(run) === 1;
}

/**
 * States of `elements` parameters among `tensors`, stepped in elements of `stepBytes`. Paged ones go to CUDA managed memory:
 * the process holds them, PyTorch's allocator does not.
 */
export function postStates(
  sum: Ledger,
  run: TrainingRun,
  elements: number,
  stepBytes: number,
  tensors: readonly SteppedTensor[] = [],
): void {
  post(sum, 'optimizer-states', elements * deviceStateBytes(run, stepBytes, tensors));
}

/** Frozen models beside the trained one, split over `shards` GPUs. */
export const referenceBytes = frozenModelBytes;

/** Type of the unquantized weights as they lie on the GPU, for schemes that do not shard. */
export function residentBytes(run: TrainingRun): number {
  if (behaviours(run).restsLowered) return bytesPer(run['precision.compute']);
  if (upcastsRest(run)) return 4;
  return bytesPer(run['precision.weights']);
}
