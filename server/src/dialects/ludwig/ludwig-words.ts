import { type Words, word } from '../words';
import { ludwigSpelling } from './ludwig-optimizers';

/** Ludwig. */
export const ludwigWords: Words = {
  'optimizer.name': (value) => {
    const name = ludwigSpelling(value);
    return name === undefined ? undefined : [word('trainer.optimizer.type', name)];
  },
  // Quantization works with LoRA alone, and bits and type are two keys.
  'quantization.kind': (value, { text }) => {
    if (value === 'none') return [word('quantization', undefined)];
    if (text('adapter.type') !== 'lora') return undefined;
    if (value === 'int8') return [word('quantization.bits', 8)];
    if (value !== 'nf4' && value !== 'fp4') return undefined;
    return [word('quantization.bits', 4), word('quantization.bnb_4bit_quant_type', value)];
  },
};
