import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { KeySpec } from '../dialect';
import { inertKeys, type Row } from '../key-rows';
import type { DefaultValue } from '../section';
import { OPEN_INSTRUCT } from './open-instruct-repository';

/** What the trainers of open-instruct have in common: folder of its code, keys, and how their defaults are noted. */
export const OPEN_INSTRUCT_SOURCE = fileIn(OPEN_INSTRUCT, 'open_instruct/');

export const MODEL_ROW: Row = [
  'model_name_or_path',
  'string',
  'Model on the Hugging Face Hub, or a folder that holds it.',
  { sets: 'model.id' },
];

/** Keys that cost no GPU memory. */
export const openInstructInertKeys = (source: string, names: Parameters<typeof inertKeys>[3]): KeySpec[] =>
  inertKeys('', source, 'Setting of open-instruct that costs no GPU memory.', names);

/** A default of open-instruct, where the key is absent. */
export function ownDefault<V>(
  value: V,
  source: string,
  note = say('{0} default', 'open-instruct'),
): DefaultValue<V> {
  return { value, note, source };
}
