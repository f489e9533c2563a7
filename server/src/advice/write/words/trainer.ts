import { AXOLOTL_OPTIMIZERS, TRANSFORMERS_OPTIMIZERS } from '../../../dialects/optimizer-names';
import { oneOf, type Wish, type Words, without, word } from '../words';
import { spellingIn } from './optimizer-spelling';

/** `attn_implementation` of `from_pretrained`. */
export const attention = oneOf<string>('attn_implementation', {
  eager: 'eager',
  sdpa: 'sdpa',
  flash2: 'flash_attention_2',
  flash3: 'flash_attention_3',
  flex: 'flex_attention',
});

const FSDP_WORDS = { full: 'full_shard auto_wrap', 'grad-op': 'shard_grad_op auto_wrap' } as const;

/** Hugging Face `TrainingArguments`, with the model and PEFT arguments that TRL's `ModelConfig` adds. */
export const trainerWords: Words = {
  'activations.checkpointing': (value, wish) =>
    value === 'full' || value === 'none'
      ? [
          word(
            wish.text('activation_checkpointing') === undefined
              ? 'gradient_checkpointing'
              : 'activation_checkpointing',
            value === 'full',
          ),
        ]
      : undefined,
  'attention.implementation': (value, wish) => [
    ...without(wish, 'use_flash_attention_2'),
    ...(attention(value) ?? []),
  ],
  'kernels.liger': (value) => [word('use_liger_kernel', value)],
  'optimizer.name': (value, wish) => {
    const name = value === 'adamw' ? 'adamw_torch_fused' : spellingIn(TRANSFORMERS_OPTIMIZERS, value);
    return name === undefined ? undefined : [...without(wish, 'adafactor'), word('optim', name)];
  },
  'method.kind': (value) => (value === 'lora' ? [word('use_peft', true)] : undefined),
  'lora.rank': (value) => [word('lora_r', value)],
  'lora.alpha': (value) => [word('lora_alpha', value)],
  'lora.targets': (value) => [
    word('lora_target_modules', value.length === 1 ? (value[0] ?? null) : [...value]),
  ],
  'quantization.kind': (value, wish) => fourOrEightBit(value, wish, 'bnb_4bit_quant_type'),
  'parallel.data': (value, { changes }) =>
    value === 'fsdp1' || value === 'fsdp2'
      ? [
          word('fsdp', FSDP_WORDS[changes['fsdp.strategy'] === 'grad-op' ? 'grad-op' : 'full']),
          ...(value === 'fsdp2' ? [word('fsdp_config.fsdp_version', 2)] : []),
        ]
      : undefined,
  'fsdp.strategy': (value, { text, changes }) => {
    if (changes['parallel.data']) return [];
    if (value !== 'full') return undefined;
    const stated = text('fsdp');
    return stated === undefined
      ? undefined
      : [word('fsdp', stated.replace(/shard_grad_op|no_shard/g, 'full_shard'))];
  },
};

export function fourOrEightBit(value: string, wish: Wish, type?: string) {
  if (value === 'nf4') {
    return [
      ...without(wish, 'load_in_8bit'),
      word('load_in_4bit', true),
      ...(type === undefined ? [] : [word(type, 'nf4')]),
    ];
  }
  return value === 'int8' ? [...without(wish, 'load_in_4bit'), word('load_in_8bit', true)] : undefined;
}

const LIGER_PLUGIN = 'axolotl.integrations.liger.LigerPlugin';
/** Switches of one kernel each, before `attn_implementation` took their place. */
const ATTENTION_FLAGS = [
  'flash_attention',
  'sdp_attention',
  'xformers_attention',
  'flex_attention',
  'eager_attention',
] as const;
const FLAG_OF: Readonly<Record<string, string>> = {
  flash2: 'flash_attention',
  sdpa: 'sdp_attention',
  flex: 'flex_attention',
  eager: 'eager_attention',
};

/** Axolotl. */
export const axolotlWords: Words = {
  'activations.checkpointing': (value) =>
    value === 'full' || value === 'none' ? [word('gradient_checkpointing', value === 'full')] : undefined,
  'attention.implementation': (value, wish) => {
    const old = ATTENTION_FLAGS.filter((flag) => wish.text(flag) !== undefined);
    const flag = FLAG_OF[value];
    if (old.length === 0) return attention(value);
    return flag === undefined
      ? undefined
      : [...without(wish, ...old.filter((name) => name !== flag)), word(flag, true)];
  },
  'kernels.liger': (value, { items }) =>
    value
      ? [
          word('plugins', [...items('plugins').filter((name) => name !== LIGER_PLUGIN), LIGER_PLUGIN]),
          word('liger_rope', true),
          word('liger_rms_norm', true),
          word('liger_glu_activation', true),
          word('liger_fused_linear_cross_entropy', true),
        ]
      : undefined,
  'optimizer.name': (value) => {
    const name =
      value === 'adamw'
        ? 'adamw_torch_fused'
        : (spellingIn(TRANSFORMERS_OPTIMIZERS, value) ?? spellingIn(AXOLOTL_OPTIMIZERS, value));
    return name === undefined ? undefined : [word('optimizer', name)];
  },
  'method.kind': (value, { changes }) =>
    value === 'lora'
      ? [word('adapter', changes['quantization.kind'] === 'nf4' ? 'qlora' : 'lora')]
      : undefined,
  'lora.rank': (value) => [word('lora_r', value)],
  'lora.alpha': (value) => [word('lora_alpha', value)],
  'lora.targets': (value) =>
    value[0] === 'all-linear'
      ? [word('lora_target_linear', true)]
      : [word('lora_target_modules', [...value])],
  'quantization.kind': (value, wish) => [
    ...(fourOrEightBit(value, wish) ?? []),
    ...(value === 'nf4' && wish.run['method.kind'] === 'lora' ? [word('adapter', 'qlora')] : []),
  ],
  'parallel.data': (value, { text }) =>
    value === 'fsdp2' && text('deepspeed') === undefined
      ? [
          word('fsdp_version', 2),
          word('fsdp_config', {
            auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
            state_dict_type: 'FULL_STATE_DICT',
            reshard_after_forward: true,
          }),
        ]
      : undefined,
  'fsdp.strategy': (value, wish) => {
    if (wish.changes['parallel.data']) return [];
    if (value !== 'full') return undefined;
    const key = ['fsdp_config.reshard_after_forward', 'fsdp_config.fsdp_reshard_after_forward'].find(
      (name) => wish.text(name) !== undefined,
    );
    return key === undefined ? undefined : [word(key, true)];
  },
  'offload.parameters': (value, { run, text }) =>
    value === 'cpu' && /^fsdp/.test(run['parallel.data'])
      ? [
          word(
            text('fsdp_config.fsdp_offload_params') === undefined
              ? 'fsdp_config.offload_params'
              : 'fsdp_config.fsdp_offload_params',
            true,
          ),
        ]
      : undefined,
  'offload.optimizer': (value, { run }) =>
    value === 'cpu' && /^fsdp/.test(run['parallel.data']) ? [] : undefined,
};

/** LLaMA-Factory: checkpointing is on unless it is switched off. */
export const llamaFactoryWords: Words = {
  ...trainerWords,
  'activations.checkpointing': (value) =>
    value === 'full' || value === 'none'
      ? [word('disable_gradient_checkpointing', value === 'none')]
      : undefined,
  'attention.implementation': oneOf<string>('flash_attn', {
    eager: 'disabled',
    sdpa: 'sdpa',
    flash2: 'fa2',
    flash3: 'fa3',
  }),
  'kernels.liger': (value) => [word('enable_liger_kernel', value)],
  'method.kind': (value) => (value === 'lora' ? [word('finetuning_type', 'lora')] : undefined),
  'lora.rank': (value) => [word('lora_rank', value)],
  'lora.targets': (value) => [word('lora_target', value[0] === 'all-linear' ? 'all' : value.join(','))],
  'quantization.kind': (value, wish) =>
    value === 'nf4' || value === 'int8'
      ? [
          ...without(wish, 'quantization_type'),
          word('quantization_bit', value === 'nf4' ? 4 : 8),
          word('quantization_method', 'bnb'),
        ]
      : undefined,
};

/** Open Instruct's `finetune.py`. */
export const openInstructWords: Words = {
  ...trainerWords,
  'attention.implementation': (value) => (value === 'flash2' ? [word('use_flash_attn', true)] : undefined),
  'optimizer.name': (value) =>
    value === 'adamw-8bit' || value === 'paged-adamw-8bit' ? [word('use_8bit_optimizer', true)] : undefined,
  'method.kind': (value, { changes }) =>
    value === 'lora'
      ? [word(changes['quantization.kind'] === 'nf4' ? 'use_qlora' : 'use_lora', true)]
      : undefined,
  'lora.rank': (value) => [word('lora_rank', value)],
  'lora.targets': () => [],
  'quantization.kind': (value) => (value === 'nf4' ? [word('use_qlora', true)] : undefined),
};
