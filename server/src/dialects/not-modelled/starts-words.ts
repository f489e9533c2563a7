import { say } from '../../wording/say';
import type { TrainerNotModelled } from '../dialect';

/** The sentence that reports a launch of a trainer that is not modelled. */
export function startsWords({ name, trains }: TrainerNotModelled): string {
  return say(
    'This starts {0}, which trains {1}. Oomlint does not model it: there is no estimate.',
    name,
    trains,
  );
}
