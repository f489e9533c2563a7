import { getLocation } from 'jsonc-parser';
import { Lines } from '../../config/lines';
import { nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import type { Position } from '../../text/place';
import type { CaretPlace } from './place';

export function jsonPlace(text: string, position: Position, root: ConfigNode | null): CaretPlace | undefined {
  const lines = new Lines(text);
  const offset = lines.offset(position);
  const line = text.slice(lines.offset({ line: position.line, character: 0 }), offset);
  if (/(^|\s)\/\//.test(line.replace(/"[^"]*"?/g, ''))) return undefined;
  const { path, isAtPropertyKey, previousNode } = getLocation(text, offset);
  const inside =
    previousNode && previousNode.offset <= offset && offset <= previousNode.offset + previousNode.length
      ? previousNode
      : undefined;
  const word = inside ? text.slice(inside.offset, offset).replace(/^"/, '') : '';
  const typed = inside ? 0 : (/(?<![\w.-])[\w.-]*$/.exec(text.slice(0, offset))?.[0].length ?? 0);
  const range = inside
    ? lines.range(inside.offset, inside.offset + inside.length)
    : lines.range(offset - typed, offset);
  const names = path.map((segment) => (typeof segment === 'number' ? '[0]' : segment));
  const parent = names.slice(0, -1);
  const last = path.at(-1);
  if (last === undefined) return undefined;
  if (!isAtPropertyKey) {
    const key = names.findLast((segment) => segment !== '[0]');
    const at = key === undefined ? -1 : names.lastIndexOf(key);
    return key === undefined
      ? undefined
      : { parent: names.slice(0, at), key, word, range, siblings: new Set(), quote: '"' };
  }
  const block = nodeAt(
    root,
    path.slice(0, -1).map((segment) => (typeof segment === 'number' ? `[${segment}]` : segment)),
  );
  const entries = block?.kind === 'map' ? block.entries : [];
  return {
    parent,
    word,
    range,
    siblings: new Set(entries.map(({ key }) => key).filter((key) => key !== word)),
    quote: '"',
    ended: /^\s*:/.test(text.slice(lines.offset(range.end))),
  };
}
