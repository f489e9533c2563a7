import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { DefaultValue } from '../section';
import { AUTOMODEL } from './nemo-repository';

export const AUTOMODEL_SOURCE = fileIn(AUTOMODEL, 'nemo_automodel/');

/** What Automodel takes where a file states nothing, and its source. */
export function own<V>(
  value: V,
  note = say('{0} default', 'Automodel'),
  file = 'components/distributed/config.py',
): DefaultValue<V> {
  return { value, note, source: `${AUTOMODEL_SOURCE}${file}` };
}
