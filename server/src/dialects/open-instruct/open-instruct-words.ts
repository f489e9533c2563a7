import { trainerWords } from '../hf/hf-words';
import { type Words, word } from '../words';

/** Open Instruct's `finetune.py`. */
export const openInstructWords: Words = {
  ...trainerWords,
  'attention.implementation': (value) => (value === 'flash2' ? [word('use_flash_attn', true)] : undefined),
  'optimizer.name': (value) => (value === 'adamw-8bit' ? [word('use_8bit_optimizer', true)] : undefined),
  // A quantized base gets no adapters by itself.
  'method.kind': (value) => (value === 'lora' ? [word('use_lora', true)] : undefined),
  'lora.rank': (value) => [word('lora_rank', value)],
  'lora.targets': () => [],
  'quantization.kind': (value) => (value === 'nf4' ? [word('use_qlora', true)] : undefined),
};
