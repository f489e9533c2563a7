import type { PyCall, PyValue } from '../../config/python/value';
import type { Draft } from '../draft';
import { isHarmless, leaveVariant } from '../hf/peft-fields';

/** Arguments of Unsloth's `get_peft_model` (2026.10.9, `models/llama.py`, `models/vision.py`) that are read, or that hold nothing. */
const KNOWN =
  /^(model|r|target_modules|lora_alpha|lora_dropout|modules_to_save|ensure_weight_tying|use_gradient_checkpointing|random_state|max_seq_length|temporary_location|finetune_(vision|language|audio)_layers|finetune_(attention|mlp)_modules|qat_scheme|unsloth_tiled_mlp)$/;

/** What else it is given goes on to PEFT's config, or is of Unsloth: it is not counted unless it is known to change nothing. */
export function leaveOtherFields(draft: Draft, { named }: PyCall): void {
  for (const { key, value, used } of named) {
    if (KNOWN.test(key) || isHarmless('lora', { key, value: plainOf(value) })) continue;
    if (!draft.hasLeft(used)) leaveVariant(draft, { range: used }, key);
  }
}

/** A value as far as it tells whether an argument is switched off. */
function plainOf(value: PyValue): unknown {
  if (value.kind === 'scalar') return value.value;
  if (value.kind === 'list') return value.items;
  return value.kind === 'dict' ? value.entries : undefined;
}
