import { say } from '../wording/say';
import type { KeySpec } from './dialect';
import { type Row, silent } from './key-rows';
import type { Silence } from './section';

/** What the trainers of open-instruct have in common: folder of its code, keys, and how their defaults are told. */
export const OPEN_INSTRUCT = 'https://github.com/allenai/open-instruct/blob/main/open_instruct/';

export const MODEL_ROW: Row = [
  'model_name_or_path',
  'string',
  'Model on the Hugging Face Hub, or a folder that holds it.',
  { fields: ['model.id'] },
];

/** Keys that cost no GPU memory. */
export const silentKeys = (source: string, names: Parameters<typeof silent>[3]): KeySpec[] =>
  silent('', source, 'Setting of open-instruct that costs no GPU memory.', names);

/** A default of open-instruct, where the file is silent. */
export function ownDefault<V>(
  value: V,
  source: string,
  note = say('{0} default', 'open-instruct'),
): Silence<V> {
  return { value, note, source };
}
