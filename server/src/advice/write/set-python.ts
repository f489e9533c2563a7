import { Lines } from '../../config/lines';
import { entryAt, entryOf } from '../../config/lookup';
import type { ConfigNode, MapEntry, MapNode } from '../../config/node';
import { parseConfig } from '../../config/parse';
import type { Written } from '../../dialects/words';
import type { Range } from '../../text/place';
import { breakOf, endOfLine, splice, startOfLine } from './splice';
import { isBlock } from './written';

/** A literal that can be changed where it stands. */
const LITERAL = /^(?:[rRuU]?(["'])[^\n]*\1|[-+]?[\d_.]+(?:[eE][-+]?\d+)?|True|False|None|torch\.\w+)$/;

/**
 * Sets or removes an argument of a call (its block, the argument, and keys of a dictionary that it is). A name that stands for
 * the value is followed to where it is bound; what is computed is replaced where it is passed.
 */
export function setPython(text: string, path: readonly string[], value: Written): string | undefined {
  const { root } = parseConfig('file:///x.py', text);
  const lines = new Lines(text);
  const [call, key, ...inner] = path;
  const block = entryOf(root, call ?? '')?.value;
  if (block?.kind !== 'map' || key === undefined) return undefined;
  const entry = inner.length === 0 ? entryOf(block, key) : entryAt(block, [key, ...inner]);
  if (entry) return value === undefined ? removed(text, lines, entry) : changed(text, lines, entry, value);
  if (value === undefined) return text;
  return inner.length === 0 ? added(text, lines, block, key, value) : undefined;
}

const slice = (text: string, lines: Lines, { start, end }: Range) =>
  text.slice(lines.offset(start), lines.offset(end));

function replace(text: string, lines: Lines, range: Range, value: Written): string {
  const written = slice(text, lines, range);
  const quote = /^[rRuU]?(["'])/.exec(written)?.[1] ?? quoteOf(text);
  return splice(text, lines.offset(range.start), lines.offset(range.end), shown(value, quote));
}

function changed(text: string, lines: Lines, { value: node }: MapEntry, value: Written): string | undefined {
  if (LITERAL.test(slice(text, lines, node.range)) || node.kind !== 'scalar')
    return replace(text, lines, node.range, value);
  // Several names or a condition stand behind it: only what is passed is changed.
  return replace(text, lines, node.used ?? node.range, value);
}

/** An argument on a line of its own takes the line along, one among others its comma. */
function removed(text: string, lines: Lines, entry: MapEntry): string | undefined {
  const start = lines.offset(entry.keyRange.start);
  const end = lines.offset(placeOf(entry.value).end);
  if (end < start) return undefined;
  const behind = /^[ \t]*,?[ \t]*(?:#[^\r\n]*)?/.exec(text.slice(end))?.[0] ?? '';
  const lineStart = startOfLine(text, start);
  const lineEnd = endOfLine(text, end);
  if (text.slice(lineStart, start).trim() === '' && end + behind.length >= lineEnd) {
    const eol = /^(?:\r\n|\n|\r)/.exec(text.slice(lineEnd))?.[0] ?? '';
    return splice(text, lineStart, lineEnd + eol.length, '');
  }
  const comma = /^[ \t]*,[ \t]*/.exec(text.slice(end));
  if (comma) return splice(text, start, end + comma[0].length, '');
  const before = /,?[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0;
  return splice(text, start - before, end, '');
}

/** Where the value is passed. */
const placeOf = (node: ConfigNode): Range =>
  node.kind === 'scalar' ? (node.used ?? node.range) : node.range;

/** Behind the last argument, as the others are written: on lines of their own, with blanks around the sign or without. */
function added(text: string, lines: Lines, block: MapNode, key: string, value: Written): string | undefined {
  const start = lines.offset(block.range.start);
  // The block of a call begins with its brackets, a dictionary that a call makes with its name.
  const open = start + (/^dict\s*(?=\()/.exec(text.slice(start))?.[0].length ?? 0);
  const close = lines.offset(block.range.end) - 1;
  if (text[open] !== '(' || text[close] !== ')') return undefined;
  const own = block.entries.filter(({ keyRange }) => {
    const at = lines.offset(keyRange.start);
    return at > open && at < close;
  });
  const last = own.reduce<MapEntry | undefined>(
    (late, entry) =>
      late && lines.offset(late.keyRange.start) > lines.offset(entry.keyRange.start) ? late : entry,
    undefined,
  );
  const blanks = last ? /^(\s*)=/.exec(text.slice(lines.offset(last.keyRange.end)))?.[1] !== '' : false;
  const words = `${key}${blanks ? ' = ' : '='}${shown(value, quoteOf(text))}`;
  const inside = text.slice(open + 1, close);
  if (inside.trim() === '') return splice(text, open + 1, close, words);
  const ending = endOfArguments(text, open + 1, close);
  const trailing = text[ending - 1] === ',';
  const keyStart = last && lines.offset(last.keyRange.start);
  const lineStart = keyStart === undefined ? undefined : startOfLine(text, keyStart);
  const indent = lineStart === undefined ? '' : text.slice(lineStart, keyStart);
  const ownLine = keyStart !== undefined && indent.trim() === '' && startOfLine(text, open) !== lineStart;
  if (!ownLine) return splice(text, ending, ending, `${trailing ? ' ' : ', '}${words}`);
  const closesOwnLine = text.slice(startOfLine(text, close), close).trim() === '';
  const line = `${breakOf(text)}${indent}${words}${trailing || closesOwnLine ? ',' : ''}`;
  return splice(text, ending, ending, trailing ? line : `,${line}`);
}

/** Behind the last argument and its comma: what follows are blanks and comments. */
function endOfArguments(text: string, from: number, close: number): number {
  let end = from;
  let quote = '';
  for (let i = from; i < close; i++) {
    const sign = text[i] ?? '';
    if (quote !== '') {
      if (sign === '\\') i++;
      else if (text.startsWith(quote, i)) {
        i += quote.length - 1;
        quote = '';
      }
      end = i + 1;
    } else if (sign === '#') i = endOfLine(text, i) - 1;
    else {
      if (sign === '"' || sign === "'") {
        quote = text.startsWith(sign.repeat(3), i) ? sign.repeat(3) : sign;
        i += quote.length - 1;
      }
      if (!/\s/.test(sign)) end = i + 1;
    }
  }
  return end;
}

/** The quotes that the text uses most. */
function quoteOf(text: string): string {
  const head = text.slice(0, 20_000);
  return (head.match(/'/g)?.length ?? 0) > (head.match(/"/g)?.length ?? 0) ? "'" : '"';
}

function shown(value: Written, quote: string): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map((item) => shown(item, quote)).join(', ')}]`;
  if (isBlock(value))
    return `{${Object.entries(value)
      .map(([key, item]) => `${quote}${key}${quote}: ${shown(item, quote)}`)
      .join(', ')}}`;
  return typeof value === 'string'
    ? `${quote}${value.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)}${quote}`
    : String(value);
}
