import { fileIn, TRL } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { DefaultValue } from '../section';

/** What TRL takes where nobody states it, by a file of its trainers. */
export function trlDefault<V>(value: V, file: string): DefaultValue<V> {
  return { value, note: say('{0} default', 'TRL'), source: fileIn(TRL, `trl/trainer/${file}`) };
}
