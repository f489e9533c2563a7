import { trainerWords } from '../hf/hf-words';
import { type Words, without, word } from '../words';

/** LLaMA-Factory: checkpointing is on unless it is switched off. */
export const llamaFactoryWords: Words = {
  ...trainerWords,
  'activations.checkpointing': (value) =>
    value === 'full' || value === 'none'
      ? [word('disable_gradient_checkpointing', value === 'none')]
      : undefined,
  'attention.implementation': undefined,
  'kernels.liger': (value) => [word('enable_liger_kernel', value)],
  'method.kind': (value) => (value === 'lora' ? [word('finetuning_type', 'lora')] : undefined),
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
