import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';

/**
 * Whether PEFT adds the head to what it trains in full: only for the task `SEQ_CLS`, as text or as a member of `TaskType`
 * (peft 0.21, `peft_model.py`, `PeftModelForSequenceClassification`).
 */
export function trainsHead(node: ConfigNode): boolean | undefined {
  const task = textOf(node);
  return task === undefined ? undefined : /(^|\.)SEQ_CLS$/i.test(task);
}
