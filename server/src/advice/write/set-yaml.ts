import { Lines } from '../../config/lines';
import { entryOf } from '../../config/lookup';
import type { ConfigNode, ListNode, MapEntry, MapNode, ScalarNode } from '../../config/node';
import { parseConfig } from '../../config/parse';
import { resolvePlain } from '../../config/pyyaml';
import { plainOf } from '../../config/scalar';
import type { Written } from '../../dialects/words';
import { compare } from '../../text/place';
import { breakOf, endOfLine, splice, startOfLine, withoutLines } from './splice';
import { inline, isBlock } from './written';

/** Sets or removes a key of a YAML text. Undefined where its place cannot be changed alone (aliases, merged blocks). */
export function setYaml(text: string, path: readonly string[], value: Written): string | undefined {
  const { root } = parseConfig('file:///x.yaml', text);
  if (root?.kind !== 'map') return undefined;
  const lines = new Lines(text);
  let map: MapNode = root;
  for (const [depth, key] of path.entries()) {
    const entry = entryOf(map, key);
    const rest = path.slice(depth + 1);
    if (!entry) return value === undefined ? text : inserted(text, lines, map, path.slice(depth), value);
    if (!isOwn(entry, map, root)) return undefined;
    if (rest.length === 0) return replaced(text, lines, map, entry, value);
    if (entry.value.kind !== 'map') {
      if (value === undefined) return text;
      const blank = entry.value.kind === 'scalar' && entry.value.value === null;
      return blank ? replaced(text, lines, map, entry, nested(rest, value)) : undefined;
    }
    map = entry.value;
  }
  return undefined;
}

const nested = (path: readonly string[], value: Written): Written =>
  path.reduceRight<Written>((inner, key) => ({ [key]: inner }), value);

/** An alias or a merged block is shared with other places: what stands there is not this key's alone. */
function isOwn(entry: MapEntry, map: MapNode, root: ConfigNode): boolean {
  const { start } = entry.value.range;
  const before = start.line < entry.keyRange.start.line;
  const outside = map !== root && entry.keyRange.start.line < map.range.start.line;
  return !before && !outside;
}

const isFlow = (text: string, lines: Lines, node: ConfigNode) =>
  text[lines.offset(node.range.start)] === '{' || text[lines.offset(node.range.start)] === '[';

function replaced(
  text: string,
  lines: Lines,
  map: MapNode,
  entry: MapEntry,
  value: Written,
): string | undefined {
  const keyStart = lines.offset(entry.keyRange.start);
  const keyEnd = lines.offset(entry.keyRange.end);
  const start = lines.offset(entry.value.range.start);
  const end = lines.offset(entry.value.range.end);
  const flow = isFlow(text, lines, map);
  if (value === undefined) {
    if (!flow) {
      const last =
        text.slice(startOfLine(text, keyStart), keyStart).trim() === '' ? Math.max(start, end, keyEnd) : -1;
      if (last < 0) return undefined;
      // The only key of a block takes the block with it: an empty mapping is none.
      return map.entries.length > 1 ? withoutLines(text, keyStart, last) : undefined;
    }
    const behind = /^\s*,\s*/.exec(text.slice(end));
    if (behind) return splice(text, keyStart, end + behind[0].length, '');
    const before = /,\s*$/.exec(text.slice(0, keyStart));
    return splice(text, before ? before.index : keyStart, end, '');
  }
  if (!flow && isBlock(value)) {
    const indent = indentOf(text, keyStart) + step(text);
    const block = blockLines(value, indent, breakOf(text), step(text));
    const head = text.slice(keyEnd).match(/^\s*:/)?.[0].length ?? 1;
    const blank = entry.value.kind === 'scalar' && entry.value.value === null && start === end;
    if (blank) return splice(text, endOfLine(text, keyEnd), endOfLine(text, keyEnd), breakOf(text) + block);
    return splice(text, keyEnd + head, end, breakOf(text) + block);
  }
  if (Array.isArray(value) && entry.value.kind === 'list' && !flow) {
    const written = listed(text, lines, entry.value, value);
    if (written !== undefined) return written;
  }
  const shown = entry.value.kind === 'scalar' ? scalarLike(text, lines, entry.value, value) : shownOf(value);
  if (start === end) {
    const colon = text.slice(keyEnd).match(/^\s*:/)?.[0].length ?? 1;
    return splice(text, keyEnd + colon, keyEnd + colon, ` ${shown}`);
  }
  return splice(text, start, end, shown);
}

/** In the quotes that stand there already. */
function scalarLike(text: string, lines: Lines, node: ScalarNode, value: Written): string {
  const quote = text[lines.offset(node.range.start)];
  if (
    typeof value === 'string' &&
    node.quoted &&
    (quote === '"' || quote === "'") &&
    !value.includes(quote)
  ) {
    return `${quote}${value}${quote}`;
  }
  if (typeof value === 'boolean' && /^[TF]/.test(node.text)) return value ? 'True' : 'False';
  return shownOf(value);
}

function shownOf(value: Written): string {
  if (typeof value === 'string') {
    const plain =
      /^[\w./+-][\w./+ -]*$/.test(value) && !/\s$/.test(value) && typeof resolvePlain(value) === 'string';
    return plain ? value : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(shownOf).join(', ')}]`;
  if (isBlock(value)) return inline(value);
  return value === null || value === undefined ? 'null' : String(value);
}

function inserted(
  text: string,
  lines: Lines,
  map: MapNode,
  path: readonly string[],
  value: Written,
): string | undefined {
  const [key = '', ...rest] = path;
  const content = rest.length > 0 ? nested(rest, value) : value;
  const last = lastOwn(map);
  if (isFlow(text, lines, map)) {
    const written = `${key}: ${isBlock(content) ? inline(content) : shownOf(content)}`;
    if (!last) {
      const start = lines.offset(map.range.start) + 1;
      return splice(text, start, start, written);
    }
    const end = lines.offset(last.value.range.end);
    return splice(text, end, end, `, ${written}`);
  }
  if (!last) return undefined;
  const indent = indentOf(text, lines.offset(last.keyRange.start));
  const end = Math.max(lines.offset(last.value.range.end), lines.offset(last.keyRange.end));
  const place = endOfLine(text, end);
  const block = blockLines({ [key]: content }, indent, breakOf(text), step(text));
  return splice(text, place, place, breakOf(text) + block);
}

/** Merged entries stand elsewhere: the last that stands in the block itself. */
function lastOwn(map: MapNode): MapEntry | undefined {
  return map.entries
    .filter(
      ({ keyRange }) =>
        keyRange.start.line >= map.range.start.line && keyRange.start.line <= map.range.end.line,
    )
    .sort((a, b) => compare(a.keyRange.start, b.keyRange.start))
    .at(-1);
}

/** What stands before a key on its line, the dash of a list as blanks. */
function indentOf(text: string, offset: number): string {
  return text.slice(startOfLine(text, offset), offset).replace(/[^\s]/g, ' ');
}

/** How far the file indents: the least that any line does. */
function step(text: string): string {
  const depths = [...text.matchAll(/^( +)[\w"'-]/gm)].map(([, blanks = '']) => blanks.length);
  return ' '.repeat(depths.length > 0 ? Math.min(...depths) : 2);
}

/** Items of a list written one a line: what is new goes behind those that stay, else all are written anew. */
function listed(text: string, lines: Lines, list: ListNode, value: readonly Written[]): string | undefined {
  const present = list.items.map(plainOf);
  const [first] = list.items;
  if (!first || isFlow(text, lines, list)) return undefined;
  const itemStart = lines.offset(first.range.start);
  const head = text.slice(startOfLine(text, itemStart), itemStart);
  if (!/^\s*-\s+$/.test(head)) return undefined;
  const item = (found: Written) => `${breakOf(text)}${head}${shownOf(found)}`;
  const end = lines.offset(list.range.end);
  const stays = present.every((found, index) => found === value[index]);
  if (stays) {
    const place = endOfLine(text, end);
    return splice(text, place, place, value.slice(present.length).map(item).join(''));
  }
  const start = startOfLine(text, itemStart);
  return splice(
    text,
    start,
    end,
    value
      .map(item)
      .join('')
      .replace(/^\r?\n/, ''),
  );
}

function blockLines(
  block: { readonly [key: string]: Written },
  indent: string,
  eol: string,
  deeper: string,
): string {
  return Object.entries(block)
    .map(([key, value]) =>
      isBlock(value)
        ? `${indent}${key}:${eol}${blockLines(value, indent + deeper, eol, deeper)}`
        : Array.isArray(value)
          ? `${indent}${key}:${value.map((item) => `${eol}${indent}${deeper}- ${shownOf(item)}`).join('')}`
          : `${indent}${key}: ${shownOf(value)}`,
    )
    .join(eol);
}
