import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';

/** Tasks whose models have heads that PEFT trains in full, as text or as a member of `TaskType`. */
const OF_HEADS = /(^|\.)(?:SEQ_CLS|TOKEN_CLS|QUESTION_ANS)$/i;

/**
 * Whether PEFT adds the head to what it trains in full (peft 0.21, `peft_model.py`, `PeftModelForSequenceClassification`,
 * `PeftModelForTokenClassification`, `PeftModelForQuestionAnswering`).
 */
export function trainsHead(node: ConfigNode): boolean | undefined {
  const task = textOf(node);
  return task === undefined ? undefined : OF_HEADS.test(task);
}
