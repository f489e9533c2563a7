import { textsOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Section } from '../section';
import { ZERO_DOCS } from './deepspeed-keys';

/**
 * Buckets, thresholds and switches of a `zero_optimization` block; without a block, DeepSpeed's defaults (Accelerate
 * generates such configs).
 */
export function readZero(block: Section, stage: number): void {
  block.take('reduce_bucket_size', 'allgather_bucket_size');
  block.take('stage3_prefetch_bucket_size', 'stage3_param_persistence_threshold');
  block.take('stage3_max_live_parameters', 'stage3_max_reuse_distance');
  block.take('sub_group_size', 'zero_hpz_partition_size', 'contiguous_gradients');
  block.takeElse('overlap_comm', {
    value: stage === 3,
    note: say('DeepSpeed default at stage {0}', stage),
    source: ZERO_DOCS,
  });
  block.take('mics_shard_size');
  readLeafModules(block.section('leaf_module'));
}

/** What DeepSpeed takes for one module where no classes are stated (`runtime/zero/leaf_module_config.py`). */
export const KNOWN_LEAVES = ['MixtralSparseMoeBlock', 'Qwen2MoeSparseMoeBlock', 'Qwen3MoeSparseMoeBlock'];

/** Each of the three is a list, or one name. */
function readLeafModules(block: Section): void {
  const found = ['classes', 'names', 'name_suffixes'].map((key) => block.find(key));
  const stated = found.flatMap((one) => one ?? []);
  const [first] = stated;
  if (!first) return;
  const lists = stated.map(({ node }) => textsOf(node));
  if (lists.some((names) => names === undefined)) {
    block.leave(first, ['zero.leafModules']);
    return;
  }
  const names = lists.flatMap((list) => list ?? []);
  block.state('zero.leafModules', found[0] ? names : [...KNOWN_LEAVES, ...names], first);
}
