import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';

const LOADS = /Tokenizer(?:Fast)?\.from_pretrained$/;

/** Arguments of a trainer that hold the tokenizer of its data; a collator holds one in its turn. */
const HOLDS = ['processing_class', 'tokenizer', 'data_collator'] as const;

/** The name that a value's tokenizer is loaded by, where it is known. */
function nameOf({ calls }: Pick<PyProgram, 'calls'>, value: PyValue | undefined): string | undefined {
  const made = value?.kind === 'object' && value.item === undefined ? calls[value.id] : undefined;
  if (!made) return undefined;
  if (!LOADS.test(made.callee))
    return /Collator\w*$/.test(made.callee) ? nameOf({ calls }, argumentOf(made, 'tokenizer', 0)) : undefined;
  const name = argumentOf(made, 'pretrained_model_name_or_path', 0);
  return name?.kind === 'scalar' && typeof name.value === 'string' ? spelled(name.value) : undefined;
}

const spelled = (name: string): string => name.trim().replace(/\/+$/, '').toLowerCase();

/**
 * Whether a call of a tokenizer may be of the data that is trained on. One of another name than the trainer's, or where the trainer is given
 * none than that of the model beside it, is for another model: a teacher that is asked before the training, for example.
 */
export function mayBeTrained(
  program: PyProgram,
  trainer: PyCall,
  model: unknown,
): (tokenizer: PyValue | undefined) => boolean {
  const [given] = HOLDS.flatMap((key) => nameOf(program, argumentOf(trainer, key)) ?? []);
  const ofModel = typeof model === 'string' ? spelled(model) : undefined;
  const isLoaded = program.calls.some(
    ({ id, callee, range }) =>
      LOADS.test(callee) && nameOf(program, { kind: 'object', id, range }) === ofModel,
  );
  const trained = given ?? (isLoaded ? ofModel : undefined);
  return (tokenizer) => {
    const name = nameOf(program, tokenizer);
    return trained === undefined || name === undefined || name === trained;
  };
}
