import { FAILURE, type Outcome, SUCCESS, UNKNOWN } from './condition';
import { isSettled, type PlacedText, textOfPieces } from './placed-text';
import type { ShellScope } from './scope';

/** Where the next letter stands in a word of several (`-xe`): a name that no script has. */
const LETTER = 'OPTIND:letter';

const numberOf = (scope: ShellScope, name: string, otherwise: number): number => {
  const number = Number(textOfPieces(scope.get(name)?.text ?? []));
  return Number.isInteger(number) && number > 0 ? number : otherwise;
};

/**
 * `getopts "m:g:" opt` over arguments that are there: sets the variable, `OPTARG` and `OPTIND`, and ends where options do (POSIX, `getopts`;
 * bash 5.2 `builtins/getopt.c`).
 */
export function nextOption(
  scope: ShellScope,
  letters: string,
  name: string,
  own: readonly PlacedText[],
): Outcome {
  const given = own.length > 0 ? own : (scope.args ?? []);
  const open = own.length > 0 ? undefined : scope.openFrom;
  const at = numberOf(scope, 'OPTIND', 1);
  const letterAt = numberOf(scope, LETTER, 1);
  const plain = (text: string, word: PlacedText = []): PlacedText => {
    const { start, end } = word[0] ?? { start: 0, end: 0 };
    return [{ text, start, end, exact: false }];
  };
  if (open !== undefined && at > open) return UNKNOWN;
  const word = given[at - 1];
  if (!word) return FAILURE;
  if (!isSettled(word)) return UNKNOWN;
  const text = textOfPieces(word);
  if (!/^-./.test(text) || text === '--') {
    if (text === '--') scope.set('OPTIND', plain(String(at + 1)));
    scope.set(name, plain('?'));
    return FAILURE;
  }
  const letter = text[letterAt] ?? '';
  const place = letters.replace(/^:/, '').indexOf(letter);
  const isKnown = place >= 0 && letter !== ':';
  const takesValue = isKnown && letters.replace(/^:/, '')[place + 1] === ':';
  const rest = text.slice(letterAt + 1);
  scope.set(name, plain(isKnown ? letter : '?', word));
  if (!takesValue) {
    scope.set('OPTIND', plain(String(rest === '' ? at + 1 : at)));
    scope.set(LETTER, plain(String(rest === '' ? 1 : letterAt + 1)));
    return SUCCESS;
  }
  scope.set(LETTER, plain('1'));
  scope.set('OPTIND', plain(String(rest === '' ? at + 2 : at + 1)));
  const value = rest === '' ? given[at] : plain(rest, word);
  if (rest === '' && open !== undefined && at >= open) return UNKNOWN;
  if (value) scope.set('OPTARG', value);
  else scope.set(name, plain(letters.startsWith(':') ? ':' : '?', word));
  return SUCCESS;
}
