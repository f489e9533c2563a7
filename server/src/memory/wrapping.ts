import type { Weight } from '../model/tape';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import type { CachingAllocator } from './allocator';
import { wrappedUnits } from './fsdp/units';
import { groupsOf } from './layer-groups';
import { packedBytes } from './quantization';
import { shardGroupSize } from './sharding';
import type { TracedStage } from './traced-run';
import { bytesPer, ownWeights } from './weights';

/** Bytes that `sync_module_states` broadcasts at a time (`_init_utils.py`, `PARAM_BROADCAST_BUCKET_SIZE`). */
const BROADCAST_BUCKET = 250 * 2 ** 20;

/**
 * Wraps a model in FSDP 1 on an allocator, unit by unit as `_init_utils.py` does it: the unit's weights come to the GPU
 * one by one, rank 0's are broadcast in flat copies, all are copied into one flat weight, of which a shard is cloned;
 * then everything but the shard is given back. The copies lie on the stream of the activations, so what they leave
 * cached is a floor of what the run reserves.
 */
export function wrapFsdp1(
  allocator: CachingAllocator,
  stages: readonly TracedStage[],
  run: TrainingRun,
): void {
  const shards = shardsOf(run);
  const offloaded = run['offload.parameters'] !== 'none';
  const wrap = (weights: readonly number[], others: number) => {
    const unit = weights.reduce((sum, bytes) => sum + bytes, 0);
    const own = weights.map((bytes) => allocator.allocate(bytes));
    const broadcast = buckets(weights).map((bytes) => allocator.allocate(bytes));
    const flat = allocator.allocate(unit);
    const shard = shards > 1 ? allocator.allocate(unit / shards) : flat;
    if (shards > 1) allocator.release(flat);
    for (const block of own) allocator.release(block);
    for (const block of broadcast) allocator.release(block);
    if (offloaded) {
      allocator.release(shard);
      return;
    }
    // The shards of the layers that are not wrapped one by one.
    if (others > 0) allocator.allocate((others * unit) / shards);
  };
  const { units, root, outer } = wrappedUnits(stages, run);
  for (const { stage, weights } of units) {
    const bytes = weights.map((weight) => unitBytes(weight, run));
    for (const others of groupsOf(stage.copies)) wrap(bytes, others);
  }
  for (const parts of outer.length > 0 ? [root, outer] : [root]) {
    wrap(
      parts.flatMap(({ weights, copies }) => {
        const bytes = weights.map((weight) => unitBytes(weight, run));
        return Array.from({ length: copies }, () => bytes).flat();
      }),
      0,
    );
  }
}

/** Bytes that wrapping leaves on one GPU: the shards of all units. */
export function wrappedBytes(stages: readonly TracedStage[], run: TrainingRun): number {
  if (run['offload.parameters'] !== 'none') return 0;
  let bytes = 0;
  for (const traced of stages) {
    for (const weight of ownWeights(traced)) bytes += traced.copies * unitBytes(weight, run);
  }
  return bytes / shardsOf(run);
}

function shardsOf(run: TrainingRun): number {
  return run['fsdp.strategy'] === 'none' ? 1 : shardGroupSize(run);
}

/** A weight as it lies in its unit: packed (its scales are no weights), or in the type of the model's weights. */
function unitBytes(weight: Weight, run: TrainingRun): number {
  if (weight.quantization !== 'none') return packedBytes(weight, run);
  const trained = weight.trainable && behaviours(run).castsWhenGathered;
  return weight.localElements * bytesPer(run[trained ? 'precision.masterWeights' : 'precision.weights']);
}

/** Weights are gathered until the bucket is full (`reducer.cpp`, `compute_bucket_assignment_by_size`). */
function buckets(weights: readonly number[]): number[] {
  const full: number[] = [];
  let bucket = 0;
  for (const bytes of weights) {
    bucket += bytes;
    if (bucket < BROADCAST_BUCKET) continue;
    full.push(bucket);
    bucket = 0;
  }
  if (bucket > 0) full.push(bucket);
  return full;
}
