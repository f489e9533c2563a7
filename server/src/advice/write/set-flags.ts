import { Lines } from '../../config/lines';
import { entryOf } from '../../config/lookup';
import { parseConfig } from '../../config/parse';
import type { Written } from '../../dialects/words';
import { breakOf, splice, withoutLines } from './splice';
import { inline } from './written';

/** Sets or removes a flag of a flag file; a new one is written as the last line is. */
export function setFlags(text: string, path: readonly string[], value: Written): string | undefined {
  const key = path[0] ?? '';
  const { root } = parseConfig('file:///x.flags', text);
  if (root?.kind !== 'map' || path.length !== 1) return undefined;
  const lines = new Lines(text);
  const entry = entryOf(root, key);
  const shown = typeof value === 'string' ? (/\s/.test(value) ? `"${value}"` : value) : inline(value);
  if (entry) {
    const start = lines.offset(entry.value.range.start);
    const end = lines.offset(entry.value.range.end);
    const keyStart = lines.offset(entry.keyRange.start);
    const isSwitch = start === keyStart;
    if (value === undefined || (isSwitch && value === false)) return withoutLines(text, keyStart, end);
    if (isSwitch) return value === true ? text : splice(text, end, end, `${joiner(text, keyStart)}${shown}`);
    return splice(text, start, end, shown);
  }
  if (value === undefined || value === false) return value === undefined ? text : undefined;
  const last = root.entries.at(-1);
  const written = last ? text.slice(lines.offset(last.keyRange.start), lines.offset(last.keyRange.end)) : '';
  const dashes = /^-*/.exec(written)?.[0] ?? '';
  const place = last ? lines.offset(last.keyRange.start) : 0;
  const bare = value === true && dashes !== '' ? '' : `${joiner(text, place)}${shown}`;
  const eol = breakOf(text);
  const gap = text === '' || /[\r\n]$/.test(text) ? '' : eol;
  return `${text}${gap}${dashes}${key}${bare}${gap === '' ? eol : ''}`;
}

/** How the flag at a place is joined with its value. */
function joiner(text: string, offset: number): string {
  return /^-{0,2}[\w.-]+(\s*=\s*|:\s+|\s+)/.exec(text.slice(offset))?.[1]?.replace(/[\r\n]+/g, '') || '=';
}
