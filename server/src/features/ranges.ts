import { linesOf } from '../text/lines';
import type { Position, Range } from '../text/place';

export function before(a: Position, b: Position): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
}

/** Both ends count: a cursor behind the last character of a word is still at that word. */
export function contains(range: Range, position: Position): boolean {
  return !before(position, range.start) && !before(range.end, position);
}

export function overlaps(a: Range, b: Range): boolean {
  return !before(a.end, b.start) && !before(b.end, a.start);
}

export function within(inner: Range, outer: Range): boolean {
  return !before(inner.start, outer.start) && !before(outer.end, inner.end);
}

/** What stands at a range of a text. */
export function textAt(text: string, range: Range): string {
  const lines = linesOf(text);
  const { start, end } = range;
  if (start.line === end.line) {
    return lines[start.line]?.slice(start.character, end.character) ?? '';
  }
  return lines.slice(start.line, end.line + 1).join('\n');
}
