import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { DType } from '../../terms/dtypes';

/** Spellings of types in DeepSpeed's `DtypeEnum`. */
const DTYPE_NAMES: Readonly<Record<string, DType>> = {
  fp32: 'fp32',
  float32: 'fp32',
  float: 'fp32',
  fp16: 'fp16',
  float16: 'fp16',
  half: 'fp16',
  bf16: 'bf16',
  bfloat16: 'bf16',
};

export function dtypeOf(node: ConfigNode | undefined): DType | undefined {
  const text = textOf(node)
    ?.toLowerCase()
    .replace(/^torch\./, '');
  return text === undefined ? undefined : DTYPE_NAMES[text];
}
