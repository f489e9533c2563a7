import { Lines } from '../../config/lines';
import type { Range } from '../../text/place';

export function splice(text: string, start: number, end: number, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

export function replaceRange(text: string, range: Range, inserted: string): string {
  const lines = new Lines(text);
  return splice(text, lines.offset(range.start), lines.offset(range.end), inserted);
}

export const breakOf = (text: string): string => (/\r\n/.test(text) ? '\r\n' : '\n');

/** Offset behind the last character of a line, its break not counted. */
export function endOfLine(text: string, offset: number): number {
  const found = /[\r\n]/.exec(text.slice(offset));
  return found ? offset + found.index : text.length;
}

export function startOfLine(text: string, offset: number): number {
  let start = offset;
  while (start > 0 && !/[\r\n]/.test(text[start - 1] ?? '')) start--;
  return start;
}

/** Removes whole lines, with the break behind them. */
export function withoutLines(text: string, first: number, last: number): string {
  const start = startOfLine(text, first);
  let end = endOfLine(text, last);
  if (text[end] === '\r') end++;
  if (text[end] === '\n') end++;
  return splice(text, start, end, '');
}
