import { type Words, word } from '../words';

const MEGATRON = 'policy.megatron_cfg';

/** NeMo-RL, whose two backends have blocks of their own. DTensor recomputes whole layers or none. */
export const nemoRlWords: Words = {
  'activations.checkpointing': (value, { run }) => {
    if (run['precision.scheme'] !== 'megatron')
      return value === 'full' || value === 'none'
        ? [word('policy.dtensor_cfg.activation_checkpointing', value === 'full')]
        : undefined;
    if (value === 'none') return [word(`${MEGATRON}.activation_checkpointing`, false)];
    return value === 'full' || value === 'selective'
      ? [word(`${MEGATRON}.activation_checkpointing`, true), word(`${MEGATRON}.recompute_granularity`, value)]
      : undefined;
  },
};
