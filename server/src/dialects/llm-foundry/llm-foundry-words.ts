import { COMPOSER_OPTIMIZERS, spellingIn } from '../optimizer-names';
import { oneOf, type Words, word } from '../words';

/** MosaicML's LLM Foundry. */
export const foundryWords: Words = {
  'fsdp.strategy': oneOf<string>('fsdp_config.sharding_strategy', {
    full: 'FULL_SHARD',
    'grad-op': 'SHARD_GRAD_OP',
    none: 'NO_SHARD',
    hybrid: 'HYBRID_SHARD',
  }),
  'offload.parameters': (value) => [word('fsdp_config.cpu_offload', value === 'cpu')],
  'offload.optimizer': () => [],
  'attention.implementation': (value, { text }) =>
    text('model.name') === 'hf_causal_lm'
      ? value === 'flash2'
        ? [word('model.use_flash_attention_2', true)]
        : undefined
      : [
          word(
            text('model.attn_impl') === undefined ? 'model.attn_config.attn_impl' : 'model.attn_impl',
            value === 'flash2' ? 'flash' : 'torch',
          ),
        ],
  'optimizer.name': (value) => {
    const name = spellingIn(COMPOSER_OPTIMIZERS, value);
    return name === undefined ? undefined : [word('optimizer.name', name)];
  },
  'method.kind': (value, { changes, text }) =>
    value === 'lora' && text('model.name') === 'hf_causal_lm'
      ? [
          word('model.peft_config', {
            peft_type: 'LORA',
            task_type: 'CAUSAL_LM',
            r: changes['lora.rank'] ?? 16,
            lora_alpha: changes['lora.alpha'] ?? 32,
            lora_dropout: 0.0,
            target_modules: 'all-linear',
          }),
        ]
      : undefined,
  'lora.rank': (value, { changes }) => (changes['method.kind'] ? [] : [word('model.peft_config.r', value)]),
  'lora.alpha': (value, { changes }) =>
    changes['method.kind'] ? [] : [word('model.peft_config.lora_alpha', value)],
  'lora.targets': (_, { changes }) => (changes['method.kind'] ? [] : undefined),
};
