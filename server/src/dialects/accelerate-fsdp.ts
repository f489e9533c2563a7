import { mapAt, nodeAt } from '../config/lookup';
import type { ConfigNode, MapNode } from '../config/node';
import { flagOf, integerOf, isBlank, textOf } from '../config/scalar';
import type { FieldValue } from '../run/fields';
import { say } from '../wording/say';
import type { Draft } from './draft';

const DOCS = 'https://huggingface.co/docs/accelerate/usage_guides/fsdp';

export interface FsdpKey {
  readonly key: string;
  readonly node: ConfigNode;
}

/** A setting of `fsdp_config`, with or without the prefix that the launcher adds. Blank counts as absent. */
export function fsdpKey(root: ConfigNode, name: string): FsdpKey | undefined {
  const block = mapAt(root, 'fsdp_config');
  for (const key of [`fsdp_${name}`, name]) {
    const node = nodeAt(block, [key]);
    if (node && !isBlank(node)) return { key: `fsdp_config.${key}`, node };
  }
  return undefined;
}

export function fsdpVersionOf(root: ConfigNode): 1 | 2 {
  return integerOf(fsdpKey(root, 'version')?.node) === 2 ? 2 : 1;
}

type Strategy = FieldValue<'fsdp.strategy'>;
const STRATEGIES: readonly (readonly [name: string, value: Strategy])[] = [
  ['FULL_SHARD', 'full'],
  ['SHARD_GRAD_OP', 'grad-op'],
  ['NO_SHARD', 'none'],
  ['HYBRID_SHARD', 'hybrid'],
  ['HYBRID_SHARD_ZERO2', 'hybrid-grad-op'],
];

/** Strategy by name in any case, or by the number 1 to 5 that torch gives it. */
export function strategyOf(node: ConfigNode): Strategy | undefined {
  const text = textOf(node)?.toUpperCase();
  const byName = STRATEGIES.find(([name]) => name === text)?.[1];
  return byName ?? STRATEGIES[(integerOf(node) ?? 0) - 1]?.[1];
}

export function readFsdp(root: MapNode, type: ConfigNode, draft: Draft): void {
  const version = fsdpVersionOf(root);
  const stated = fsdpKey(root, 'version');
  draft.state(
    'parallel.data',
    version === 2 ? 'fsdp2' : 'fsdp1',
    stated?.node ?? type,
    stated?.key ?? 'distributed_type',
  );
  readStrategy(root, version, draft);
  readWrap(root, draft);
  const offload = fsdpKey(root, 'offload_params');
  const offloaded = flagOf(offload?.node);
  if (offload && offloaded !== undefined) {
    const place = offloaded ? 'cpu' : 'none';
    draft.state('offload.parameters', place, offload.node, offload.key);
    draft.state(
      'offload.optimizer',
      place,
      offload.node,
      offload.key,
      say('FSDP steps weights that are offloaded on the CPU'),
    );
  }
  const efficient = fsdpKey(root, 'cpu_ram_efficient_loading');
  const one = flagOf(efficient?.node);
  if (efficient && one !== undefined)
    draft.state('loading.hostCopies', one ? 'one' : 'every-process', efficient.node, efficient.key);
  const saved = fsdpKey(root, 'state_dict_type');
  const form = textOf(saved?.node)?.toUpperCase();
  if (saved && form === 'FULL_STATE_DICT') draft.state('saving.weights', 'full', saved.node, saved.key);
  else if (saved && (form === 'SHARDED_STATE_DICT' || form === 'LOCAL_STATE_DICT'))
    draft.state('saving.weights', 'sharded', saved.node, saved.key);
  const checkpointing = fsdpKey(root, 'activation_checkpointing');
  const on = flagOf(checkpointing?.node);
  if (checkpointing && on === true) {
    draft.state('activations.checkpointing', 'full', checkpointing.node, checkpointing.key);
    draft.assume(
      'activations.reentrant',
      false,
      say('Accelerate checkpoints FSDP layers without reentry'),
      DOCS,
    );
  }
  const moved = fsdpKey(root, 'activation_checkpointing_offload');
  if (moved && on && flagOf(moved.node) === true && version === 2) {
    draft.state('activations.offload', true, moved.node, moved.key);
  }
  if (version === 1) readFirstVersion(root, draft);
  else draft.assume('fsdp.backwardPrefetch', 'none', say('FSDP 2 has no such setting in Accelerate'), DOCS);
}

function readStrategy(root: MapNode, version: 1 | 2, draft: Draft): void {
  const replicas = integerOf(nodeAt(root, 'parallelism_config.parallelism_config_dp_replicate_size')) ?? 1;
  if (version === 2) {
    const reshard = fsdpKey(root, 'reshard_after_forward');
    const flag = flagOf(reshard?.node);
    const value: Strategy =
      flag === false ? (replicas > 1 ? 'hybrid-grad-op' : 'grad-op') : replicas > 1 ? 'hybrid' : 'full';
    if (reshard && flag !== undefined) draft.state('fsdp.strategy', value, reshard.node, reshard.key);
    else
      draft.assume(
        'fsdp.strategy',
        value,
        say('{0} default', 'Accelerate'),
        DOCS,
        'fsdp_config.fsdp_reshard_after_forward',
      );
    return;
  }
  const sharding = fsdpKey(root, 'sharding_strategy');
  const strategy = sharding && strategyOf(sharding.node);
  if (sharding && strategy) draft.state('fsdp.strategy', strategy, sharding.node, sharding.key);
  else if (!sharding)
    draft.assume(
      'fsdp.strategy',
      'full',
      say('{0} default', 'Accelerate'),
      DOCS,
      'fsdp_config.fsdp_sharding_strategy',
    );
}

const WRAPS: Readonly<Record<string, FieldValue<'fsdp.wrap'>>> = {
  TRANSFORMER_BASED_WRAP: 'layer',
  SIZE_BASED_WRAP: 'size',
  NO_WRAP: 'none',
};

function readWrap(root: MapNode, draft: Draft): void {
  const policy = fsdpKey(root, 'auto_wrap_policy');
  const wrap = WRAPS[textOf(policy?.node)?.toUpperCase() ?? ''];
  if (policy && wrap) draft.state('fsdp.wrap', wrap, policy.node, policy.key);
  else if (!policy) {
    const note = say('Accelerate default: without a wrap policy, the whole model is gathered at once');
    draft.assume('fsdp.wrap', 'none', note, DOCS, 'fsdp_config.fsdp_auto_wrap_policy');
  }
  if (wrap !== 'size') return;
  const minimum = fsdpKey(root, 'min_num_params');
  const value = integerOf(minimum?.node);
  if (minimum && value !== undefined) draft.state('fsdp.minParameters', value, minimum.node, minimum.key);
  else
    draft.assume(
      'fsdp.minParameters',
      1e8,
      say('default of accelerate launch'),
      DOCS,
      'fsdp_config.fsdp_min_num_params',
    );
}

const PREFETCH: Readonly<Record<string, FieldValue<'fsdp.backwardPrefetch'>>> = {
  BACKWARD_PRE: 'pre',
  BACKWARD_POST: 'post',
  NO_PREFETCH: 'none',
  '1': 'pre',
  '2': 'post',
};

function readFirstVersion(root: MapNode, draft: Draft): void {
  const backward = fsdpKey(root, 'backward_prefetch');
  const value = PREFETCH[textOf(backward?.node)?.toUpperCase() ?? ''];
  if (backward && value) draft.state('fsdp.backwardPrefetch', value, backward.node, backward.key);
  else if (!backward) {
    draft.assume(
      'fsdp.backwardPrefetch',
      'none',
      say('{0} default', 'Accelerate'),
      DOCS,
      'fsdp_config.fsdp_backward_prefetch',
    );
  }
  const forward = fsdpKey(root, 'forward_prefetch');
  const ahead = flagOf(forward?.node);
  if (forward && ahead !== undefined) draft.state('fsdp.forwardPrefetch', ahead, forward.node, forward.key);
  const original = fsdpKey(root, 'use_orig_params');
  const keeps = flagOf(original?.node);
  if (original && keeps !== undefined)
    draft.state('fsdp.useOriginalParameters', keeps, original.node, original.key);
}
