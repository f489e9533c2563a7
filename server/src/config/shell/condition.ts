import { matchesPattern } from './pattern';
import { isSettled, type PlacedText, textOfPieces } from './placed-text';

/** Whether a condition holds, as far as a script states. */
export interface Outcome {
  /** Undefined where it hangs on something outside the script. */
  readonly holds?: boolean;
  /**
   * The script itself settles it. Where not, `holds` is what a plain start of the script gives, with variables of the environment
   * unset.
   */
  readonly sure: boolean;
  /** It asks whether something is given that nobody gives: the script has a default for it, or ends. */
  readonly default?: boolean;
  /** A program that is expected to succeed, rather than a test. */
  readonly program?: boolean;
}

export const UNKNOWN: Outcome = { sure: false };
export const SUCCESS: Outcome = { holds: true, sure: true };
export const FAILURE: Outcome = { holds: false, sure: true };
/** A program was started: what follows `&&` is meant to run. */
export const STARTED: Outcome = { holds: true, sure: true, program: true };

export function negated({ holds, ...rest }: Outcome): Outcome {
  return { ...rest, holds: holds === undefined ? undefined : !holds, program: false };
}

/** `a && b` (or `a || b`) of conditions. */
export function combined(outcomes: readonly Outcome[], any: boolean): Outcome {
  const decisive = outcomes.find(({ holds, sure }) => sure && holds === any);
  if (decisive) return decisive;
  const sure = outcomes.every((outcome) => outcome.sure);
  const named = outcomes.find((outcome) => outcome.default);
  if (outcomes.some(({ holds }) => holds === undefined)) return UNKNOWN;
  return { holds: outcomes.some(({ holds }) => holds === any) === any, sure, default: named !== undefined };
}

/** A word of a condition, and the same as a pattern. */
export interface ConditionWord {
  readonly text: PlacedText;
  readonly pattern?: string;
}

/** `[ a = b ]`, `[ -z a ]` and their like, in words as expanded. */
export function conditionOf(words: readonly ConditionWord[], patterns: boolean): Outcome {
  const texts = words.map(({ text }) => textOfPieces(text));
  const [first = '', second = ''] = texts;
  if (texts.length === 0) return FAILURE;
  if (first === '!') return negated(conditionOf(words.slice(1), patterns));
  if (first === '(' && texts.at(-1) === ')') return conditionOf(words.slice(1, -1), patterns);
  for (const operator of ['-o', '-a']) {
    const at = texts.indexOf(operator, 1);
    if (at > 0 && texts.length > 3)
      return combined(
        [conditionOf(words.slice(0, at), patterns), conditionOf(words.slice(at + 1), patterns)],
        operator === '-o',
      );
  }
  const [left, , right] = words;
  if (words.length === 1 && left) return emptiness(left.text, false);
  if (words.length === 2 && words[1]) {
    if (first === '-z' || first === '-n') return emptiness(words[1].text, first === '-z');
    return UNKNOWN;
  }
  if (words.length !== 3 || !left || !right) return UNKNOWN;
  if (/^(=|==|!=)$/.test(second)) {
    const same = (holds: Outcome) => (second === '!=' ? negated(holds) : holds);
    if (texts[2] === '') return same(emptiness(left.text, true));
    if (first === '') return same(emptiness(right.text, true));
    // `[ "x$A" = x ]`
    const [head, ...rest] = left.text;
    if (head && !head.opaque && head.text === texts[2] && rest.length > 0) return same(emptiness(rest, true));
    return same(equality(left.text, right, patterns));
  }
  return numbers(left.text, second, right.text);
}

/** Nobody gives it, so it is empty: that is a default of the script, not a guess. */
function emptiness(text: PlacedText, empty: boolean): Outcome {
  if (isSettled(text)) return { holds: (textOfPieces(text) === '') === empty, sure: true };
  if (text.some((piece) => piece.opaque && piece.unset === undefined)) {
    // `$(date)x` is not empty, whatever it is.
    const more = text.some((piece) => !piece.opaque && piece.text !== '');
    return more ? { holds: !empty, sure: true } : UNKNOWN;
  }
  const rest = text.filter((piece) => piece.unset === undefined);
  return { holds: (textOfPieces(rest) === '') === empty, sure: true, default: true };
}

/** A text with variables of the environment unset; undefined where something else is not known. */
function plain(text: PlacedText): { readonly text: string; readonly sure: boolean } | undefined {
  if (text.some((piece) => piece.opaque && piece.unset !== 'variable')) return undefined;
  const known = text.filter((piece) => !piece.opaque);
  return { text: textOfPieces(known), sure: known.length === text.length };
}

function equality(left: PlacedText, right: ConditionWord, patterns: boolean): Outcome {
  const [a, b] = [plain(left), plain(right.text)];
  if (!a || !b) return UNKNOWN;
  const sure = a.sure && b.sure;
  const pattern = patterns ? right.pattern : undefined;
  if (pattern === undefined) return { holds: a.text === b.text, sure };
  const holds = matchesPattern(a.text, pattern);
  return holds === undefined ? UNKNOWN : { holds, sure };
}

function numbers(left: PlacedText, operator: string, right: PlacedText): Outcome {
  const [a, b] = [plain(left), plain(right)];
  if (!a || !b) return UNKNOWN;
  const [x, y] = [Number(a.text), Number(b.text)];
  if (a.text === '' || b.text === '' || Number.isNaN(x) || Number.isNaN(y)) return UNKNOWN;
  const sure = a.sure && b.sure;
  switch (operator) {
    case '-eq':
      return { holds: x === y, sure };
    case '-ne':
      return { holds: x !== y, sure };
    case '-gt':
    case '>':
      return { holds: x > y, sure };
    case '-ge':
      return { holds: x >= y, sure };
    case '-lt':
    case '<':
      return { holds: x < y, sure };
    case '-le':
      return { holds: x <= y, sure };
    default:
      return UNKNOWN;
  }
}
