import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';

/** Biases that are trained beside adapters, by PEFT's words for them (peft 0.21, `tuners/lora/config.py`, `LoraConfig.bias`). */
export function trainedBiases(node: ConfigNode): FieldValue<'lora.bias'> | undefined {
  const kind = textOf(node);
  if (kind === 'lora_only') return 'lora-only';
  return kind === 'none' || kind === 'all' ? kind : undefined;
}
