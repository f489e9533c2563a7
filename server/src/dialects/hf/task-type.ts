import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';

/**
 * Tasks by whose classes PEFT adds modules to those trained in full, the same in all of its releases (`peft_model.py` of peft 0.9 to 0.21:
 * `PeftModelForSequenceClassification`, `PeftModelForTokenClassification`, `PeftModelForQuestionAnswering`).
 */
const TASKS: Readonly<Record<string, FieldValue<'lora.task'>>> = {
  SEQ_CLS: 'classification',
  TOKEN_CLS: 'classification',
  QUESTION_ANS: 'question-answering',
};

/** The task that PEFT is given, as text or as a member of `TaskType`. */
export function adapterTask(node: ConfigNode): FieldValue<'lora.task'> | undefined {
  const task = textOf(node);
  return task === undefined ? undefined : (TASKS[task.split('.').at(-1)?.toUpperCase() ?? ''] ?? 'other');
}
