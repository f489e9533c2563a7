import { compare, type Position, type Range } from '../text/place';
import type { ConfigNode, MapEntry, MapNode } from './node';

/** Path of keys from the root; list items are their index in brackets, for example `['layers', '[0]', 'name']`. */
export type KeyPath = readonly string[];

export function entryOf(node: ConfigNode | null | undefined, key: string): MapEntry | undefined {
  return node?.kind === 'map' ? node.entries.find((entry) => entry.key === key) : undefined;
}

/** Entry at a path of keys; undefined where a step is missing or no mapping. */
export function entryAt(node: ConfigNode | null | undefined, path: KeyPath): MapEntry | undefined {
  let current: ConfigNode | null | undefined = node;
  let entry: MapEntry | undefined;
  for (const key of path) {
    entry = entryOf(current, key);
    if (!entry) return undefined;
    current = entry.value;
  }
  return entry;
}

/** Value at a dotted path (`zero_optimization.offload_param.device`) or at a path of keys that may hold dots. */
export function nodeAt(node: ConfigNode | null | undefined, path: string | KeyPath): ConfigNode | undefined {
  const keys = typeof path === 'string' ? path.split('.') : path;
  return keys.length === 0 ? (node ?? undefined) : entryAt(node, keys)?.value;
}

export function mapAt(node: ConfigNode | null | undefined, path: string | KeyPath): MapNode | undefined {
  const found = nodeAt(node, path);
  return found?.kind === 'map' ? found : undefined;
}

/** What lies at a position. */
export interface Spot {
  /** Path of the innermost entry that holds the position; empty at the root. */
  readonly path: KeyPath;
  readonly entry?: MapEntry;
  /** Innermost value that holds the position, or the value of the key that does. */
  readonly node: ConfigNode;
  readonly onKey: boolean;
}

export function spotAt(root: ConfigNode | null, position: Position): Spot | undefined {
  if (!root) return undefined;
  let spot: Spot = { path: [], node: root, onKey: false };
  for (;;) {
    const inner = step(spot, position);
    if (!inner) return spot;
    spot = inner;
    if (spot.onKey) return spot;
  }
}

function step(spot: Spot, position: Position): Spot | undefined {
  const { node, path } = spot;
  if (node.kind === 'map') {
    for (const entry of node.entries) {
      const onKey = holds(entry.keyRange, position);
      if (onKey || holds(entry.value.range, position)) {
        return { path: [...path, entry.key], entry, node: entry.value, onKey };
      }
    }
  } else if (node.kind === 'list') {
    const index = node.items.findIndex((item) => holds(item.range, position));
    const item = node.items[index];
    if (item) return { path: [...path, `[${index}]`], entry: spot.entry, node: item, onKey: false };
  }
  return undefined;
}

/** Both ends count, so that a caret behind a word is still on it. What lies in another file holds no place of this one. */
export function holds(range: Range, position: Position): boolean {
  if (range.uri !== undefined) return false;
  return compare(range.start, position) <= 0 && compare(position, range.end) <= 0;
}

/** Calls back for every entry below a node, outermost first. */
export function eachEntry(
  node: ConfigNode | null,
  visit: (entry: MapEntry, path: KeyPath) => void,
  path: KeyPath = [],
): void {
  if (node?.kind === 'map') {
    for (const entry of node.entries) {
      const inner = [...path, entry.key];
      visit(entry, inner);
      eachEntry(entry.value, visit, inner);
    }
  } else if (node?.kind === 'list') {
    node.items.forEach((item, index) => {
      eachEntry(item, visit, [...path, `[${index}]`]);
    });
  }
}
