import type { Lines } from './lines';
import type { MapNode } from './node';
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
  const value = { kind: 'scalar', range, text, quoted: false, value: resolvePlain(text) } as const;
  return { kind: 'map', range: lines.range(start, end), entries: [{ key, keyRange, value }] };
}
