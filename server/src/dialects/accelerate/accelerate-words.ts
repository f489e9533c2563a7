import { type Words, word } from '../words';

const STRATEGY = {
  full: 'FULL_SHARD',
  'grad-op': 'SHARD_GRAD_OP',
  none: 'NO_SHARD',
  hybrid: 'HYBRID_SHARD',
  'hybrid-grad-op': 'HYBRID_SHARD_ZERO2',
} as const;
const NUMBERED = { full: 1, 'grad-op': 2, none: 3, hybrid: 4, 'hybrid-grad-op': 5 } as const;

/** Accelerate's YAML. */
export const accelerateWords: Words = {
  'zero.stage': (value, { run }) =>
    run['parallel.data'] === 'zero' ? [word('deepspeed_config.zero_stage', value)] : undefined,
  'offload.optimizer': (value, { run }) =>
    run['parallel.data'] === 'zero'
      ? [word('deepspeed_config.offload_optimizer_device', value)]
      : /^fsdp/.test(run['parallel.data'])
        ? [word('fsdp_config.fsdp_offload_params', value === 'cpu')]
        : undefined,
  'offload.parameters': (value, { run }) =>
    run['parallel.data'] === 'zero'
      ? [word('deepspeed_config.offload_param_device', value)]
      : /^fsdp/.test(run['parallel.data'])
        ? [word('fsdp_config.fsdp_offload_params', value === 'cpu')]
        : undefined,
  'fsdp.strategy': (value, { run, text }) => {
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
  'activations.checkpointing': (value, { run }) =>
    /^fsdp/.test(run['parallel.data']) && (value === 'full' || value === 'none')
      ? [word('fsdp_config.fsdp_activation_checkpointing', value === 'full')]
      : undefined,
};
