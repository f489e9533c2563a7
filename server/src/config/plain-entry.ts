import type { Range } from '../text/place';
import type { Lines } from './lines';
import type { ListNode, MapEntry, MapNode, ScalarNode } from './node';
import { resolvePlain } from './pyyaml';

/**
 * A key and what stands behind it on its line: a plain value without anything that could be more than text, and a comment; or
 * nothing at all. Then blank lines.
 */
const ENTRY =
  /^( *)([A-Za-z_][\w.-]{0,99}):(?:( +)([A-Za-z0-9_/.][\w./+-]*|-[\w.][\w./+-]*)(?: +#[ -~]*)?(?: *\r?\n)* *|(?:\r?\n(?: *\r?\n)* *)?)$/;

/**
 * Most entries of most configs are a key and a word: those are read here, in a hundredth of the time of a YAML parser, which
 * gives the same. Undefined where there is any more to it.
 */
export function plainEntry(lines: Lines): MapNode | undefined {
  const found = ENTRY.exec(lines.text);
  if (!found) return undefined;
  const [, indent = '', key = '', gap = '', text = ''] = found;
  const start = indent.length;
  const keyEnd = start + key.length;
  const from = keyEnd + 1 + gap.length;
  const end = from + text.length;
  const keyRange = lines.range(start, keyEnd);
  const range = lines.range(from, end);
  const value = plainValue(text, range);
  return { kind: 'map', range: lines.range(start, end), entries: [{ key, keyRange, value }] };
}

function plainValue(text: string, range: Range): ScalarNode {
  return { kind: 'scalar', range, text, quoted: false, value: resolvePlain(text) };
}

/** A line of a list: the sign of an item or none, a key or none, a plain value. */
const LINE = /^( *)(?:(-)( +))?(?:([A-Za-z_][\w.-]{0,99}):( +))?([A-Za-z0-9_/.][\w./+-]*|-[\w.][\w./+-]*) *$/;

/** As `plainEntry`, of a list whose items are words, or keys and words. */
export function plainItems(lines: Lines): ListNode | undefined {
  const { text, count } = lines;
  const items: (ScalarNode | { kind: 'map'; range: Range; entries: MapEntry[] })[] = [];
  let margin = 0;
  /** Where the keys of the item stand that is being read; none of a word. */
  let inner: number | undefined;
  for (let line = 0; line < count; line++) {
    const offset = lines.offset({ line, character: 0 });
    const found = LINE.exec(text.slice(offset, lines.offset({ line: line + 1, character: 0 })).trimEnd());
    if (!found) {
      // What follows the last item: the break of its line.
      if (line > 0 && line === count - 1 && offset === text.length) break;
      return undefined;
    }
    const [, indent = '', sign, gap = '', key, between = '', word = ''] = found;
    if (line === 0) margin = indent.length;
    const start = sign ? indent.length + 1 + gap.length : indent.length;
    if (sign ? indent.length !== margin : key === undefined || start !== inner) return undefined;
    const from = key === undefined ? start : start + key.length + 1 + between.length;
    const range = onLine(line, from, from + word.length);
    if (sign) {
      inner = key === undefined ? undefined : start;
      if (key === undefined) items.push(plainValue(word, range));
      else items.push({ kind: 'map', range: onLine(line, start, range.end.character), entries: [] });
    }
    const item = items.at(-1);
    if (key === undefined || item?.kind !== 'map') continue;
    if (item.entries.some((entry) => entry.key === key)) return undefined;
    const keyRange = onLine(line, start, start + key.length);
    item.entries.push({ key, keyRange, value: plainValue(word, range) });
    item.range = { start: item.range.start, end: range.end };
  }
  const last = items.at(-1);
  return (
    last && { kind: 'list', range: { start: { line: 0, character: margin }, end: last.range.end }, items }
  );
}

function onLine(line: number, start: number, end: number): Range {
  return { start: { line, character: start }, end: { line, character: end } };
}
