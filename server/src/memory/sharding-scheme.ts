import { modelParallelSize } from '../run/derive';
import type { TrainingRun } from '../run/fields';
import { isAtLeast } from '../run/version';
import { emptyLedger, type Ledger, post } from './ledger';
import { deviceStateBytes, type SteppedTensor } from './optimizers';
import { upcastsRest } from './quantization';
import { frozenModelBytes } from './reference-models';
import { expertTensorParallel, type TracedStage } from './traced-run';
import { bytesPer, type WeightSums } from './weights';

/**
 * What a data-parallel scheme holds, gathers and buffers, as additions to the plain step. Bytes per GPU.
 * Each scheme is one function below; the step walker knows none of them.
 */
export interface Sharding {
  /** Between steps: weights, masters, states, permanent buffers. */
  readonly atRest: Ledger;
  /** From the first forward to the end of backward of every micro step. */
  readonly throughout: Ledger;
  /** Only while backward runs. */
  readonly duringBackward: Ledger;
  /** What `plan` adds there at most, for those who do not follow it. */
  readonly inBackward?: Ledger;
  /** Gradients that are already there when the last micro step begins. */
  readonly gradientsBefore: Ledger;
  /** Gradients there when the optimizer steps. */
  readonly gradientsAtStep: Ledger;
  /** Beside states and gradients while the optimizer steps. */
  readonly duringStep: Ledger;
  /** What becomes of a weight gradient within a stage. */
  readonly gradients: 'keep' | 'pass';
  /** Kept gradients of a stage are replaced by their shard when the stage is done. */
  readonly shardAfterStage: boolean;
  /** Bytes per trained element of a shard's gradient, where `shardAfterStage`. */
  readonly gradientShardBytes: number;
  /** While a copy of the stage runs: what is gathered and buffered at most, each stream's highest point added up. */
  readonly stageForward: (stage: TracedStage) => Ledger;
  readonly stageBackward: (stage: TracedStage) => Ledger;
  /** Where what is there follows the stages: their order of gathers and reductions. Then the walk asks this, not those. */
  readonly plan?: (stages: readonly TracedStage[]) => Plan;
  readonly host: readonly { readonly label: string; readonly bytes: number }[];
  /** How what it makes along the way is asked for, where that is not one tensor per trained weight. */
  readonly requests?: StepRequests;
}

/** Single requests to the allocator, bytes. */
export interface StepRequests {
  /** Buffers of backward, which go when it is over. */
  readonly buffers: readonly number[];
  /** They are there before the loss's gradient is. */
  readonly beforeLoss: boolean;
  /** What the optimizer step takes beside states and gradients. */
  readonly step: readonly number[];
}

/** What a scheme has on top of the level while one copy of a stage passes. Bytes per GPU, in the order of the calls. */
export interface Passage {
  /** Before it begins. */
  readonly before: Ledger;
  /** While it runs. */
  readonly during: Ledger;
  /** When it is over: its gradients are reduced, whole ones are still there. */
  readonly after: readonly Ledger[];
}

/** How a scheme treats the copies of a stage. */
export interface StagePlan {
  /** By the copy's number in the order of the pass, of so many. */
  readonly forward: (copy: number, copies: number) => Passage;
  readonly backward: (copy: number, copies: number) => Passage;
  /** What each copy leaves behind, gradients apart. */
  readonly forwardChange: Ledger;
  readonly backwardChange: Ledger;
  /** Its whole gradients give way to their shard when it is over; otherwise they stay until backward is. */
  readonly reduces: boolean;
  /** Copies of backward that differ from their neighbours, beside the first and last two. */
  readonly watch?: readonly number[];
}

/** The stages of one step under a scheme. */
export interface Plan {
  /** Gathered from the step's beginning to its end. */
  readonly start: Ledger;
  readonly stages: ReadonlyMap<TracedStage, StagePlan>;
  /** On top of the level when backward is over, one moment after the other. */
  readonly end: readonly Ledger[];
}

/** The scheme of a run for the weights of the given stages. */
export type ShardingOf = (run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]) => Sharding;

/** Nothing of any category; never written to. */
export const NONE = emptyLedger();

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
 * Whether FSDP wraps what heads and ends the model apart from its root: where the run says so, and under FSDP 2 by
 * Accelerate from 1.14 on (`fsdp_utils.py`, `fsdp2_prepare_model`), which reads no setting for it.
 */
export function wrapsEndsApart(run: TrainingRun): boolean {
  const accelerate = run['model.code'] === undefined || run['model.code'] === 'transformers';
  const second = run['parallel.data'] === 'fsdp2' && run['fsdp.wrap'] !== 'none';
  return (
    run['fsdp.separateEnds'] ||
    (accelerate && second && isAtLeast(run['version.accelerate'], '1.14') === true)
  );
}

/**
 * GPUs that a trained weight's shards lie on, in the mean over weights. Experts that are split over GPUs already have fewer
 * copies to share: shards x tensor / (expert x expert-tensor) (DeepSpeed `utils/groups.py`, `_create_expert_and_data_parallel`;
 * torchtitan `parallel_dims.py`, `efsdp`).
 */
export function shardsOf(run: TrainingRun, sums: WeightSums): number {
  return meanShards(run, sums.trained, sums.expertTrained);
}

/** The same of frozen weights, where they are sharded too. */
export function frozenShardsOf(run: TrainingRun, sums: WeightSums): number {
  return meanShards(run, sums.frozen, sums.expertFrozen);
}

function meanShards(run: TrainingRun, all: number, experts: number): number {
  const shards = shardGroupSize(run);
  if (experts === 0 || run['parallel.expert'] === 1) return shards;
  const ranks = run['parallel.expert'] * expertTensorParallel(run);
  const own = Math.max(1, (shards * run['parallel.tensor']) / ranks);
  return all / ((all - experts) / shards + experts / own);
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
  const scheme = run['precision.scheme'];
  if (scheme === 'deepspeed' || scheme === 'megatron' || scheme === 'apex-o2')
    return bytesPer(run['precision.compute']);
  if (upcastsRest(run)) return 4;
  return bytesPer(run['precision.weights']);
}
