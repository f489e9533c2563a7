import { isFsdp } from '../../terms/data-parallel';
import { attentionWords, fourOrEightBit, newDeepspeed } from '../hf/hf-words';
import { AXOLOTL_OPTIMIZERS, spellingIn, TRANSFORMERS_OPTIMIZERS } from '../optimizer-names';
import { type Wish, type Words, type Written, without, word } from '../words';

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

/** Both states dictionaries are those of Axolotl's examples; FSDP 1 sends what one process read to the others where it is asked to. */
const fsdpBlock = (version: 'fsdp1' | 'fsdp2', { changes }: Wish): Written => ({
  auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
  state_dict_type: 'FULL_STATE_DICT',
  ...(version === 'fsdp2' ? { reshard_after_forward: true } : { sharding_strategy: 'FULL_SHARD' }),
  ...(changes['loading.hostCopies'] === 'one'
    ? { cpu_ram_efficient_loading: true, ...(version === 'fsdp1' ? { sync_module_states: true } : {}) }
    : {}),
  // Adapters are trained beside frozen weights of the same unit (`use_orig_params` of PyTorch).
  ...(version === 'fsdp1' ? { use_orig_params: true } : {}),
});

/** Axolotl. */
export const axolotlWords: Words = {
  // Axolotl takes one of the two (`schemas/validation.py`).
  'batch.accumulation': (value, wish) => [
    ...without(wish, 'batch_size'),
    word('gradient_accumulation_steps', value),
  ],
  'attention.implementation': (value, wish) => {
    const old = ATTENTION_FLAGS.filter((flag) => wish.text(flag) !== undefined);
    const flag = FLAG_OF[value];
    if (old.length === 0) return attentionWords(value);
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
  'lora.targets': (value) =>
    value[0] === 'all-linear'
      ? [word('lora_target_linear', true)]
      : [word('lora_target_modules', [...value])],
  'quantization.kind': (value, wish) => [
    ...(fourOrEightBit(value, wish) ?? []),
    ...(value === 'nf4' && wish.run['method.kind'] === 'lora' ? [word('adapter', 'qlora')] : []),
  ],
  'parallel.data': (value, wish) => {
    if (value === 'zero') return newDeepspeed(wish, 'fsdp', 'fsdp_config');
    if (!isFsdp(value) || wish.text('deepspeed') !== undefined) return undefined;
    return [word('fsdp_version', value === 'fsdp2' ? 2 : 1), word('fsdp_config', fsdpBlock(value, wish))];
  },
  'loading.hostCopies': (value, { changes }) =>
    value === 'one' && isFsdp(changes['parallel.data'] ?? 'none') ? [] : undefined,
  'fsdp.strategy': (value, wish) => {
    if (wish.changes['parallel.data']) return [];
    if (value !== 'full') return undefined;
    const key = ['fsdp_config.reshard_after_forward', 'fsdp_config.fsdp_reshard_after_forward'].find(
      (name) => wish.text(name) !== undefined,
    );
    return key === undefined ? undefined : [word(key, true)];
  },
  'offload.parameters': (value, { run, changes, text }) =>
    value === 'cpu' && isFsdp(changes['parallel.data'] ?? run['parallel.data'])
      ? [
          word(
            text('fsdp_config.fsdp_offload_params') === undefined
              ? 'fsdp_config.offload_params'
              : 'fsdp_config.fsdp_offload_params',
            true,
          ),
        ]
      : undefined,
  'offload.optimizer': (value, { run, changes }) =>
    value === 'cpu' && isFsdp(changes['parallel.data'] ?? run['parallel.data']) ? [] : undefined,
};
