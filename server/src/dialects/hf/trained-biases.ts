import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';

/** The biases of adapted layers, as each kind of adapter names itself. */
const OF_ADAPTED = /^(lora|vera|vblora|fourier|oft|boft|miss|bone)_only$/i;

/** Biases that are trained beside adapters, by PEFT's words for them (peft 0.21, `tuners/<kind>/config.py`, `bias`). */
export function trainedBiases(node: ConfigNode): FieldValue<'lora.bias'> | undefined {
  const kind = textOf(node);
  if (kind !== undefined && OF_ADAPTED.test(kind)) return 'lora-only';
  return kind === 'none' || kind === 'all' ? kind : undefined;
}
