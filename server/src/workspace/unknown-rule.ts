import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import { closest, didYouMean } from '../wording/closest';
import { say } from '../wording/say';
import { RULES } from './rules';

/** A rule that nobody knows by this name. */
export function unknownRule(name: string, range: Range): Problem {
  const names = Object.keys(RULES);
  const replacement = closest(name, names, 1)[0];
  return {
    code: 'unknown-rule',
    severity: 'warning',
    message: say('There is no rule `{0}`.{1}', name, didYouMean(name, names)),
    range,
    data: replacement === undefined ? undefined : { replacement },
  };
}
