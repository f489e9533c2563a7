import { isFsdp } from '../../terms/data-parallel';
import { isAtLeast } from '../../terms/version';
import { spellingIn, TRANSFORMERS_OPTIMIZERS } from '../optimizer-names';
import { oneOf, type Wish, type Word, type Words, without, word } from '../words';
import { ATTENTION } from './attention';

/** `attn_implementation` of `from_pretrained`. */
export const attentionWords = oneOf<string>('attn_implementation', ATTENTION.spellings);

/** `load_in_4bit` or `load_in_8bit`, without the other; `type` is the key of the 4-bit type, where there is one. */
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

/** A DeepSpeed config that is made for the run is named where none is, and where nothing else shares the model. */
export function newDeepspeed({ deepspeed, run, text }: Wish, ...others: readonly string[]) {
  if (run['parallel.data'] === 'zero') return text('deepspeed') ? [] : undefined;
  const free = ['deepspeed', ...others].every((key) => (text(key) ?? '') === '');
  return deepspeed !== undefined && free ? [word('deepspeed', deepspeed)] : undefined;
}

const FSDP_WORDS = { full: 'full_shard auto_wrap', 'grad-op': 'shard_grad_op auto_wrap' } as const;

/**
 * Which FSDP it is, where the release would take the other. `fsdp_config` counts for that from transformers 5.0; before, the Trainer has
 * FSDP 1 alone (`training_args.py` of 4.57.1 and 5.0.0). The default is FSDP 2 from 5.10. A new block is written whole: as an argument it
 * is one JSON text, and has no keys with dots.
 */
function fsdpVersion(version: 1 | 2, { run, text, changes }: Wish): readonly Word[] | undefined {
  const release = run['version.transformers'];
  const counts = isAtLeast(release, '5.0') !== false;
  if (!counts && version === 2) return undefined;
  const byDefault = isAtLeast(release, '5.10') === false ? 1 : 2;
  const settings = {
    ...(version === byDefault ? {} : { fsdp_version: version }),
    ...(changes['loading.hostCopies'] === 'one' ? readByOne(version) : {}),
  };
  if (Object.keys(settings).length === 0) return [];
  const block = text('fsdp_config');
  // The text of a block is empty: anything else names a file, or is a JSON text that is not taken apart.
  if (block !== undefined && block !== '') return undefined;
  return block === undefined
    ? [word('fsdp_config', settings)]
    : Object.entries(settings).map(([key, value]) => word(`fsdp_config.${key}`, value));
}

/** One process reads the checkpoint; FSDP 1 sends what it read to the others where it is asked to. */
const readByOne = (version: 1 | 2) => ({
  cpu_ram_efficient_loading: true,
  ...(version === 1 ? { sync_module_states: true } : {}),
});

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
    ...(attentionWords(value) ?? []),
  ],
  'optimizer.name': (value, wish) => {
    const name = value === 'adamw' ? 'adamw_torch_fused' : spellingIn(TRANSFORMERS_OPTIMIZERS, value);
    return name === undefined ? undefined : [...without(wish, 'adafactor'), word('optim', name)];
  },
  'method.kind': (value) => (value === 'lora' ? [word('use_peft', true)] : undefined),
  'lora.targets': (value) => [
    word('lora_target_modules', value.length === 1 ? (value[0] ?? null) : [...value]),
  ],
  'quantization.kind': (value, wish) => fourOrEightBit(value, wish, 'bnb_4bit_quant_type'),
  'quantization.storage': oneOf<string>('bnb_4bit_quant_storage', { bf16: 'bfloat16', fp16: 'float16' }),
  // It stands in the block that the sharding writes.
  'loading.hostCopies': (value, { changes }) =>
    value === 'one' && isFsdp(changes['parallel.data'] ?? 'none') ? [] : undefined,
  'parallel.data': (value, wish) => {
    if (value === 'zero') return newDeepspeed(wish, 'fsdp');
    const version = isFsdp(value) ? fsdpVersion(value === 'fsdp2' ? 2 : 1, wish) : undefined;
    return (
      version && [
        word('fsdp', FSDP_WORDS[wish.changes['fsdp.strategy'] === 'grad-op' ? 'grad-op' : 'full']),
        ...version,
      ]
    );
  },
  'offload.parameters': (value, { run, text, changes }) => {
    if (value !== 'cpu' || !isFsdp(changes['parallel.data'] ?? run['parallel.data'])) return undefined;
    const present = changes['parallel.data'] ? undefined : text('fsdp');
    const sharding = present ?? FSDP_WORDS[changes['fsdp.strategy'] === 'grad-op' ? 'grad-op' : 'full'];
    return [word('fsdp', /\boffload\b/.test(sharding) ? sharding : [sharding, 'offload'].join(' '))];
  },
  'offload.optimizer': (value, { run, changes }) =>
    value === 'cpu' && isFsdp(changes['parallel.data'] ?? run['parallel.data']) ? [] : undefined,
  'fsdp.strategy': (value, { text, changes }) => {
    if (changes['parallel.data']) return [];
    if (value !== 'full') return undefined;
    const stated = text('fsdp');
    return stated === undefined
      ? undefined
      : [word('fsdp', stated.replace(/shard_grad_op|no_shard/g, 'full_shard'))];
  },
};
