import { dataParallelSize, reducesEachBatch, shardGroupSize } from '../memory/sharding-scheme';
import { bytesPer, type WeightSums } from '../memory/weights';
import type { TrainingRun } from '../run/fields';
import type { Links } from './links';

/** What a GPU computes while a collective runs; `last-backward` is that of the last micro batch. */
export type Beside = 'forward' | 'backward' | 'last-backward' | 'nothing';

/** A collective over data-parallel GPUs. */
interface Exchange {
  /** Of the whole tensor: what is gathered, or what is reduced. */
  readonly bytes: number;
  /** A gather, a scattered reduction and a broadcast pass it round once, a sum on all twice. */
  readonly passes: 1 | 2;
  /** Among the GPUs that share a copy of the model, or those that hold the same share of it. */
  readonly among: 'shards' | 'replicas';
  /** How often in an optimizer step. */
  readonly times: number;
  readonly beside: Beside;
}

/** Sizes of the rings. */
interface Rings {
  readonly shards: Ring;
  readonly replicas: Ring;
}

interface Ring {
  readonly gpus: number;
  /** GPUs of a ring in one node, and rings that share its adapters. */
  readonly perNode: number;
  readonly ringsPerNode: number;
}

function onStage(elements: number, run: TrainingRun): number {
  return elements / run['parallel.pipeline'];
}

/** All GPUs that see other data, or other parts of a sequence. */
function dataRanks(run: TrainingRun): number {
  return dataParallelSize(run) * run['parallel.context'] * run['parallel.ulysses'];
}

/** Tensor-parallel GPUs are neighbours, then come those of a shard group, then its replicas. */
function ringsOf(run: TrainingRun): Rings {
  const node = Math.max(1, Math.floor(run['hardware.gpus'] / run['hardware.nodes']));
  const group = Math.max(1, shardGroupSize(run));
  const ring = (gpus: number, stride: number): Ring => {
    const perNode = Math.max(1, Math.min(gpus, Math.floor(node / stride)));
    return { gpus, perNode, ringsPerNode: node / perNode };
  };
  const tensor = run['parallel.tensor'];
  return {
    shards: ring(group, tensor),
    replicas: ring(Math.max(1, dataRanks(run) / group), tensor * group),
  };
}

/** Seconds of each exchange: rings pass `(n - 1) / n` of the bytes over every link (Rajbhandari et al., arXiv 1910.02054, 7). */
export function exchangeSeconds(
  exchanges: readonly Exchange[],
  run: TrainingRun,
  { inside, between }: Links,
): Readonly<Record<Beside, number>> {
  const rings = ringsOf(run);
  const seconds = { forward: 0, backward: 0, 'last-backward': 0, nothing: 0 };
  for (const { bytes, passes, among, times, beside } of exchanges) {
    const { gpus, perNode, ringsPerNode } = rings[among];
    const nodes = Math.ceil(gpus / perNode);
    const passed = (members: number) => (times * passes * bytes * (members - 1)) / members;
    const near = inside === undefined ? 0 : passed(gpus) / inside;
    // What leaves a node is what a ring of nodes passes, once for each ring (hierarchical collectives).
    const far = between === undefined ? 0 : (ringsPerNode * passed(nodes)) / between;
    seconds[beside] += Math.max(near, far);
  }
  return seconds;
}

/** Seconds that the GPUs wait for exchanges beside which they have `computing` seconds of work. */
export function waiting(
  exchanged: Readonly<Record<Beside, number>>,
  computing: { readonly forward: number; readonly backward: number },
  microBatches: number,
): number {
  const forward = Math.max(0, exchanged.forward - computing.forward);
  // Of the last micro batch's backward others have taken their part.
  const late = Math.max(0, exchanged['last-backward'] - computing.backward / microBatches);
  return (
    exchanged.nothing +
    forward +
    Math.max(late, exchanged.backward + exchanged['last-backward'] - computing.backward)
  );
}

/** Everything that data-parallel GPUs exchange in one optimizer step, by the scheme's own code. */
export function exchangesOf(sums: WeightSums, run: TrainingRun): readonly Exchange[] {
  if (dataRanks(run) <= 1) return [];
  const compute = bytesPer(run['precision.compute']);
  const gradients =
    onStage(sums.trained, run) * bytesPer(run['precision.reduce'] ?? run['precision.compute']);
  const frozen = onStage(sums.frozen, run) * compute + onStage(sums.quantizedBytes, run);
  const trained = onStage(sums.trained, run) * compute;
  const sizes = { gradients, trained, weights: trained + frozen };
  switch (run['parallel.data']) {
    case 'zero':
      return run['zero.stage'] === 3 ? zero3(sizes, run) : zero12(sizes, run);
    case 'fsdp1':
    case 'fsdp2':
      return fsdp(sizes, sums, run);
    case 'horovod':
      return horovod(sizes, run);
    case 'ddp':
      return ddp(sizes, run);
    default:
      return [];
  }
}

/** Bytes on one pipeline stage. */
interface Sizes {
  readonly gradients: number;
  /** Weights as they are gathered: those that are trained, and all. */
  readonly trained: number;
  readonly weights: number;
}

const gather = (bytes: number, times: number, beside: Beside): Exchange => ({
  bytes,
  passes: 1,
  among: 'shards',
  times,
  beside,
});
/** The same way round: every GPU ends with its share of the sum. */
const scatter = gather;
const sum = (
  bytes: number,
  times: number,
  beside: Beside,
  among: Exchange['among'] = 'shards',
): Exchange => ({
  bytes,
  passes: 2,
  among,
  times,
  beside,
});

/**
 * DDP sums a bucket as soon as its gradients are there, in the last micro batch (`no_sync` before); the last bucket has no
 * backward left (`reducer.cpp`). Megatron's distributed optimizer scatters the sum and gathers what was stepped.
 */
function ddp({ gradients, trained }: Sizes, run: TrainingRun): Exchange[] {
  const last = Math.min(gradients, run['ddp.bucketCap']);
  if (run['parallel.distributedOptimizer']) {
    return [
      scatter(gradients - last, 1, 'last-backward'),
      scatter(last, 1, 'nothing'),
      gather(trained, 1, 'forward'),
    ];
  }
  return [sum(gradients - last, 1, 'last-backward'), sum(last, 1, 'nothing')];
}

/**
 * DeepSpeed. Stage 0 sums when backward is over (`engine.py`, `allreduce_gradients`). Stages 1 and 2 sum buckets on all
 * GPUs, though each keeps its share only (`stage_1_and_2.py`, `use_multi_rank_bucket_allreduce`), on the stream that computes
 * unless `overlap_comm` is on; stage 2 for each micro batch. Both gather the weights when they are stepped, and all wait.
 */
function zero12({ gradients, trained }: Sizes, run: TrainingRun): Exchange[] {
  const stage = run['zero.stage'];
  const overlaps = stage > 0 && run['zero.overlapCommunication'] === true;
  const reduced =
    stage === 2
      ? sum(gradients, run['batch.accumulation'], overlaps ? 'backward' : 'nothing')
      : sum(gradients, 1, overlaps ? 'last-backward' : 'nothing');
  return stage === 0 ? [reduced] : [reduced, gather(trained, 1, 'nothing'), ...replicas(gradients, 1, run)];
}

/**
 * DeepSpeed stage 3 gathers every module's weights for forward and again for backward, and scatters gradients in backward
 * (`stage3.py`). It prefetches and overlaps, but published runs do not show that this hides anything: with LLaMA-7B on eight
 * A800 a micro batch more takes 0.28 s (gist chenyaofo/d4cd6a20: 64 samples in 4 and in 1), and the exchange 0.22 at usual
 * speed; Qwen-7B on two A100 takes longer than computing and exchange together (`finetune.py`, 1024 tokens).
 */
function zero3({ gradients, weights }: Sizes, run: TrainingRun): Exchange[] {
  const times = run['batch.accumulation'];
  return [
    gather(weights, 2 * times, 'nothing'),
    scatter(gradients, times, 'nothing'),
    ...replicas(gradients, times, run),
  ];
}

/**
 * FSDP gathers a unit's weights beside the one before and scatters its gradients beside the next: all but those of the
 * first and the last. Strategies that do not reshard after forward gather once. Where micro batches are not synchronized,
 * gradients are reduced with the last alone.
 */
function fsdp({ gradients, weights }: Sizes, sums: WeightSums, run: TrainingRun): Exchange[] {
  const strategy = run['fsdp.strategy'];
  const micro = run['batch.accumulation'];
  const each = reducesEachBatch(run);
  const synced = each ? micro : 1;
  const beside = each ? 'backward' : 'last-backward';
  if (strategy === 'none') return [sum(gradients, synced, beside)];
  const units = run['fsdp.wrap'] === 'none' ? 1 : sums.layers.count + 1;
  const first = 1 / units;
  const reshards = strategy === 'full' || strategy === 'hybrid';
  // FSDP 1 keeps what it gathered until gradients are synchronized (`_runtime_utils.py`, `_should_free_in_backward`).
  const gathers = !reshards && run['parallel.data'] === 'fsdp1' ? synced : micro;
  return [
    gather(weights * (1 - first), gathers, 'forward'),
    ...(reshards ? [gather(weights, micro, 'backward')] : []),
    scatter(gradients * (1 - first), synced, beside),
    gather(weights * first, gathers, 'nothing'),
    scatter(gradients * first, synced, 'nothing'),
    ...replicas(gradients, synced, run),
  ];
}

/** Horovod sums gradients as they come, or what was accumulated at the end; what other GPUs step is broadcast. */
function horovod({ gradients, trained }: Sizes, run: TrainingRun): Exchange[] {
  const stage = run['zero.stage'];
  const micro = run['batch.accumulation'];
  if (stage >= 2) return [sum(gradients, micro, 'backward'), gather(trained, 1, 'nothing')];
  const reduced = sum(gradients, 1, micro > 1 ? 'nothing' : 'last-backward');
  return stage === 0 ? [reduced] : [reduced, gather(trained, 1, 'nothing')];
}

/** Copies of a shard sum their gradients. */
function replicas(gradients: number, times: number, run: TrainingRun): Exchange[] {
  const group = shardGroupSize(run);
  if (dataRanks(run) / group <= 1) return [];
  return [sum(gradients / group, times, times > 1 ? 'backward' : 'last-backward', 'replicas')];
}
