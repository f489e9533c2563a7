import { nodeAt } from '../config/lookup';
import type { MapNode } from '../config/node';
import { flagOf, integerOf, isAuto } from '../config/scalar';
import type { FieldPath } from '../run/fields';
import { say } from '../wording/say';
import type { Draft } from './draft';

const DOCS = 'https://www.deepspeed.ai/docs/config-json/';

/** Whole numbers of the block: key, field, default in elements, and the smallest value that means something. */
const SIZES: readonly [key: string, field: FieldPath, fallback: number][] = [
  ['reduce_bucket_size', 'zero.reduceBucket', 5e8],
  ['allgather_bucket_size', 'zero.allgatherBucket', 5e8],
  ['stage3_prefetch_bucket_size', 'zero.prefetchBucket', 5e7],
  ['stage3_param_persistence_threshold', 'zero.persistenceThreshold', 1e5],
  ['stage3_max_live_parameters', 'zero.maxLiveParameters', 1e9],
  ['stage3_max_reuse_distance', 'zero.maxReuseDistance', 1e9],
  ['sub_group_size', 'zero.subGroup', 1e9],
  ['zero_hpz_partition_size', 'zero.hpzPartition', 1],
];

/**
 * Buckets, thresholds and switches of a `zero_optimization` block; without a block, DeepSpeed's defaults (Accelerate
 * generates such configs).
 */
export function readZero(block: MapNode | undefined, stage: number, draft: Draft): void {
  const source = `${DOCS}#zero-optimizations-for-fp16-training`;
  for (const [key, field, fallback] of SIZES) {
    const path = `zero_optimization.${key}`;
    // Stage-3 keys are accepted without their prefix, too.
    const node = nodeAt(block, key) ?? nodeAt(block, key.replace(/^stage3_/, ''));
    const value = integerOf(node);
    if (node && value !== undefined) draft.state(field, value, node, path);
    else if (!isAuto(node)) draft.assume(field, fallback, say('{0} default', 'DeepSpeed'), source, path);
  }
  readFlag(block, 'contiguous_gradients', 'zero.contiguousGradients', true, source, draft);
  const overlap = nodeAt(block, 'overlap_comm');
  const stated = flagOf(overlap);
  if (overlap && stated !== undefined) {
    draft.state('zero.overlapCommunication', stated, overlap, 'zero_optimization.overlap_comm');
  } else {
    const note = say('DeepSpeed default at stage {0}', stage);
    draft.assume('zero.overlapCommunication', stage === 3, note, source, 'zero_optimization.overlap_comm');
  }
  const mics = nodeAt(block, 'mics_shard_size');
  const shard = integerOf(mics);
  if (mics && shard !== undefined && shard > 0) {
    draft.state('zero.micsShard', shard, mics, 'zero_optimization.mics_shard_size');
  }
}

function readFlag(
  block: MapNode | undefined,
  key: string,
  field: 'zero.contiguousGradients',
  fallback: boolean,
  source: string,
  draft: Draft,
): void {
  const node = nodeAt(block, key);
  const value = flagOf(node);
  const path = `zero_optimization.${key}`;
  if (node && value !== undefined) draft.state(field, value, node, path);
  else draft.assume(field, fallback, say('{0} default', 'DeepSpeed'), source, path);
}
