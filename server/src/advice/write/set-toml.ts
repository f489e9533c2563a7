import { Lines } from '../../config/lines';
import { entryOf } from '../../config/lookup';
import type { MapEntry, MapNode } from '../../config/node';
import { parseConfig } from '../../config/parse';
import type { Written } from '../../dialects/words';
import { linesOf } from '../../text/lines';
import { breakOf, endOfLine, splice, startOfLine, withoutLines } from './splice';
import { inline, isBlock } from './written';

const HEADER = /^\s*\[{1,2}([^\]]+)\]{1,2}\s*(?:#.*)?$/;

/** Sets or removes a key of a TOML text; a table that is missing is added at the end. */
export function setToml(text: string, path: readonly string[], value: Written): string | undefined {
  const { root } = parseConfig('file:///x.toml', text);
  if (root?.kind !== 'map') return undefined;
  const lines = new Lines(text);
  const table = path.slice(0, -1);
  const key = path.at(-1) ?? '';
  let map: MapNode | undefined = root;
  for (const name of table) {
    const inner: MapEntry | undefined = entryOf(map, name);
    map = inner?.value.kind === 'map' ? inner.value : undefined;
  }
  const entry = entryOf(map, key);
  if (entry) {
    const start = lines.offset(entry.value.range.start);
    const end = lines.offset(entry.value.range.end);
    if (value === undefined) return withoutLines(text, lines.offset(entry.keyRange.start), end);
    return splice(text, start, end, like(text[start], value));
  }
  if (value === undefined) return text;
  return added(text, table, key, value);
}

/** A literal string stays one. */
function like(quote: string | undefined, value: Written): string {
  return typeof value === 'string' && quote === "'" && !value.includes("'") ? `'${value}'` : shown(value);
}

function shown(value: Written): string {
  if (isBlock(value)) {
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key} = ${shown(inner)}`)
      .join(', ')} }`;
  }
  return inline(value);
}

function added(text: string, table: readonly string[], key: string, value: Written): string {
  const eol = breakOf(text);
  const line = `${key} = ${shown(value)}`;
  const all = linesOf(text);
  const headers = all.flatMap((content, index) => {
    const name = HEADER.exec(content)?.[1];
    return name !== undefined && !/=/.test(content.split('#')[0] ?? '') ? [{ index, name }] : [];
  });
  const own = table.length === 0 ? -1 : headers.find(({ name }) => same(name, table))?.index;
  if (own === undefined) {
    const gap = text === '' || /(\r\n|\n|\r)$/.test(text) ? '' : eol;
    return `${text}${gap}${eol}[${table.join('.')}]${eol}${line}${eol}`;
  }
  const next = headers.find(({ index }) => index > own)?.index ?? all.length;
  // Comments and blank lines before the next header belong to it.
  let last = next - 1;
  while (last > own && /^\s*(#.*)?$/.test(all[last] ?? '')) last--;
  const lines = new Lines(text);
  if (last < 0) return `${line}${eol}${text}`;
  const offset = lines.offset({ line: last, character: 0 });
  const indent = last > own ? (/^\s*/.exec(all[last] ?? '')?.[0] ?? '') : '';
  const end = endOfLine(text, startOfLine(text, offset));
  return splice(text, end, end, `${eol}${indent}${line}`);
}

const same = (name: string, table: readonly string[]) =>
  name
    .split('.')
    .map((part) => part.trim().replace(/^["']|["']$/g, ''))
    .join('.') === table.join('.');
