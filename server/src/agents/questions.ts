import * as z from 'zod/mini';
import { fieldLabel } from '../run/field-labels';
import type { FieldPath } from '../run/fields';
import type { Analysis } from '../workspace/analysis';
import { supplyExamples } from '../workspace/verdict';
import { described } from './stated';

/** What a person is asked where nobody states a field. */
const QUESTIONS: Partial<Record<FieldPath, string>> = {
  'model.id': 'Which model is trained (its id on the Hugging Face Hub, or the path of its folder)?',
  'model.path': 'Where does the model lie (a folder with its config.json)?',
  'hardware.gpu': 'Which GPU does it run on?',
  'hardware.gpus': 'How many GPUs does it run on, over all machines?',
  'hardware.nodes': 'How many machines does it run on?',
  'batch.micro': 'How many samples does one GPU take at once (the micro batch)?',
  'batch.sequence': 'How many tokens has the longest sample (the sequence length)?',
  'lora.targets': 'Which modules get an adapter?',
};
/** Fields that have an argument of their own. */
const ARGUMENTS: Partial<Record<FieldPath, 'gpu' | 'gpus' | 'nodes' | 'model'>> = {
  'model.id': 'model',
  'model.path': 'model',
  'model.config': 'model',
  'hardware.gpu': 'gpu',
  'hardware.gpus': 'gpus',
  'hardware.nodes': 'nodes',
};

export const MISSING_FACT = z.object({
  field: described(z.string(), 'Field of the run that nobody states.'),
  question: described(z.string(), 'Ask the person exactly this; do not guess.'),
  reason: z.string(),
  argument: described(
    z.string(),
    'Argument of this tool that takes the answer; `set` takes it under the name of the field.',
  ),
  example: described(z.string(), 'How an answer looks. It is no suggestion.'),
});

/** What keeps a run from being estimated, as questions for the person. */
export function questionsOf({
  resolved: { unknown },
}: Pick<Analysis, 'resolved'>): z.output<typeof MISSING_FACT>[] {
  return unknown.map((missing) => {
    const { field, reason, stated } = missing;
    const [pair = ''] = supplyExamples([missing]);
    const asked = QUESTIONS[field] ?? `What is ${fieldLabel(field)} of this run?`;
    return {
      field,
      // A value that is stated and not known was meant to be one that is.
      question: stated ? `${reason} ${asked}` : asked,
      reason,
      argument: ARGUMENTS[field] ?? 'set',
      example: pair.slice(pair.indexOf('=') + 1),
    };
  });
}
