import type { RunValues } from '../../run/fields';
import { isFsdp } from '../../terms/data-parallel';
import { type Wish, type Words, type Written, word } from '../words';

const STRATEGY = {
  full: 'FULL_SHARD',
  'grad-op': 'SHARD_GRAD_OP',
  none: 'NO_SHARD',
  hybrid: 'HYBRID_SHARD',
  'hybrid-grad-op': 'HYBRID_SHARD_ZERO2',
} as const;
const NUMBERED = { full: 1, 'grad-op': 2, none: 3, hybrid: 4, 'hybrid-grad-op': 5 } as const;

/** The run as it is to be. */
const data = ({ run, changes }: Wish) => changes['parallel.data'] ?? run['parallel.data'];

/** FSDP is to be written, and no block of it stands yet: the new block states its settings with the rest. */
const isNewBlock = ({ text, changes }: Wish) =>
  changes['parallel.data'] !== undefined && text('fsdp_config') === undefined;

/**
 * `fsdp_config` as `accelerate config` writes it for the layers of a model of transformers (`commands/config/cluster.py`, v1.10.1).
 */
export function fsdpBlock(version: 'fsdp1' | 'fsdp2', changes: RunValues): Readonly<Record<string, Written>> {
  const second = version === 'fsdp2';
  const whole = changes['fsdp.strategy'] !== 'grad-op';
  return {
    ...(second ? { fsdp_version: 2, fsdp_reshard_after_forward: whole } : {}),
    ...(second ? {} : { fsdp_sharding_strategy: STRATEGY[whole ? 'full' : 'grad-op'] }),
    fsdp_auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
    fsdp_offload_params: changes['offload.parameters'] === 'cpu',
    fsdp_cpu_ram_efficient_loading: true,
    ...(second ? {} : { fsdp_sync_module_states: true, fsdp_use_orig_params: true }),
    fsdp_state_dict_type: 'SHARDED_STATE_DICT',
    ...(changes['activations.checkpointing'] === 'full' ? { fsdp_activation_checkpointing: true } : {}),
  };
}

/** Accelerate's YAML. */
export const accelerateWords: Words = {
  'parallel.data': (value, { run, text, changes }) => {
    // What the file states already is not written again.
    if (isFsdp(value) && text('distributed_type') === 'FSDP' && run['parallel.data'] === value) return [];
    if (!isFsdp(value) || text('distributed_type') !== 'MULTI_GPU' || text('fsdp_config') !== undefined)
      return undefined;
    return [word('distributed_type', 'FSDP'), word('fsdp_config', fsdpBlock(value, changes))];
  },
  'zero.stage': (value, { run }) =>
    run['parallel.data'] === 'zero' ? [word('deepspeed_config.zero_stage', value)] : undefined,
  'offload.optimizer': (value, wish) =>
    data(wish) === 'zero'
      ? [word('deepspeed_config.offload_optimizer_device', value)]
      : isFsdp(data(wish))
        ? offloadWords(value === 'cpu', wish)
        : undefined,
  'offload.parameters': (value, wish) =>
    data(wish) === 'zero'
      ? [word('deepspeed_config.offload_param_device', value)]
      : isFsdp(data(wish))
        ? offloadWords(value === 'cpu', wish)
        : undefined,
  'loading.hostCopies': (value, wish) =>
    isNewBlock(wish) && value === 'one'
      ? []
      : [word('fsdp_config.fsdp_cpu_ram_efficient_loading', value === 'one')],
  'fsdp.strategy': (value, wish) => {
    const { run, text } = wish;
    if (isNewBlock(wish)) return [];
    if (run['parallel.data'] === 'fsdp2')
      return value === 'full' || value === 'grad-op'
        ? [word('fsdp_config.fsdp_reshard_after_forward', value === 'full')]
        : undefined;
    const old = text('fsdp_config.fsdp_sharding_strategy');
    return [
      word(
        'fsdp_config.fsdp_sharding_strategy',
        old !== undefined && /^\d+$/.test(old) ? NUMBERED[value] : STRATEGY[value],
      ),
    ];
  },
  'activations.checkpointing': (value, wish) =>
    isFsdp(data(wish)) && (value === 'full' || value === 'none')
      ? isNewBlock(wish)
        ? []
        : [word('fsdp_config.fsdp_activation_checkpointing', value === 'full')]
      : undefined,
  // FSDP 2 alone moves them, and what is moved are checkpoints (`accelerator.py`, `fsdp2_apply_ac`).
  'activations.offload': (value, wish) => {
    const kept = wish.changes['activations.checkpointing'] ?? wish.run['activations.checkpointing'];
    return data(wish) === 'fsdp2' && !isNewBlock(wish) && (!value || kept === 'full')
      ? [word('fsdp_config.fsdp_activation_checkpointing_offload', value)]
      : undefined;
  },
};

const offloadWords = (on: boolean, wish: Wish) =>
  isNewBlock(wish) ? [] : [word('fsdp_config.fsdp_offload_params', on)];
