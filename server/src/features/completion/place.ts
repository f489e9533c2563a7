import type { Position, Range } from '../../text/place';

/** Where a caret stands in a config, known from the text alone: a key that is half typed breaks every parser. */
export interface CaretPlace {
  /** Keys of the blocks around the caret; items of lists are `[0]`, whatever their number. */
  readonly parent: readonly string[];
  /** The key whose value is typed; undefined where a key is. */
  readonly key?: string;
  /** What is typed so far. */
  readonly word: string;
  /** What an entry replaces, quotes included. */
  readonly range: Range;
  /** Keys that stand beside it. */
  readonly siblings: ReadonlySet<string>;
  /** Items of a list: values of the key that holds it. */
  readonly item?: boolean;
  /** Quote that the value is in. */
  readonly quote?: '"' | "'";
  /** The word is followed by what ends a key (`:`, `=`). */
  readonly ended?: boolean;
}

/** In longer lines nothing is offered: they are data. Characters. */
export const LONGEST_LINE = 2000;

export function rangeOn(line: number, start: number, end: number): Range {
  return { start: { line, character: start }, end: { line, character: end } };
}

/** Whether a `#` before the caret makes a comment of it. */
export function inComment(before: string): boolean {
  let quote = '';
  for (let i = 0; i < before.length; i++) {
    const character = before[i] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '#' && (i === 0 || /\s/.test(before[i - 1] ?? ''))) return true;
  }
  return false;
}

/** The line at a position, cut at it. */
export function cut(
  lines: readonly string[],
  { line, character }: Position,
): { before: string; after: string } {
  const text = lines[line] ?? '';
  return { before: text.slice(0, character), after: text.slice(character) };
}
