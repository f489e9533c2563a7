import type { Range } from '../text/place';
import type { ConfigNode, MapEntry, MapNode } from './node';

/**
 * One tree over another, as `OmegaConf.merge` does it: blocks are joined key by key, anything else is replaced, lists too. A
 * value of `???` is one that is still to come: it replaces nothing.
 * https://omegaconf.readthedocs.io/en/latest/usage.html#omegaconf-merge
 */
export function merged(under: ConfigNode, over: ConfigNode): ConfigNode {
  if (over.kind === 'scalar' && over.value === '???') return under;
  if (under.kind !== 'map' || over.kind !== 'map') return over;
  const entries = new Map(under.entries.map((entry) => [entry.key, entry]));
  for (const entry of over.entries) {
    const below = entries.get(entry.key);
    entries.set(entry.key, below ? joined(below, entry) : entry);
  }
  return { kind: 'map', range: nearer(under.range, over.range), entries: [...entries.values()] };
}

function joined(below: MapEntry, entry: MapEntry): MapEntry {
  const value = merged(below.value, entry.value);
  if (value === below.value) return below;
  // The key of a block that both have is shown where the file at hand has it.
  const keyRange = value === entry.value ? entry.keyRange : nearer(below.keyRange, entry.keyRange);
  return { key: entry.key, keyRange, value };
}

/** The place in the file at hand, if one of two is; else the later. */
function nearer(under: Range, over: Range): Range {
  return over.uri !== undefined && under.uri === undefined ? under : over;
}

/** A tree put into a block of blocks. */
export function placed(root: MapNode, path: readonly string[]): MapNode {
  return path.reduceRight<MapNode>(
    (value, key) => ({ kind: 'map', range: value.range, entries: [{ key, keyRange: value.range, value }] }),
    root,
  );
}

/** A tree whose places are those of another file, but for those that have a file already. */
export function inFile<N extends ConfigNode>(node: N, uri: string): N;
export function inFile(node: ConfigNode, uri: string): ConfigNode {
  const range = placedIn(node.range, uri);
  if (node.kind === 'scalar') return { ...node, range };
  if (node.kind === 'list') return { ...node, range, items: node.items.map((item) => inFile(item, uri)) };
  const entries = node.entries.map(({ key, keyRange, value }) => ({
    key,
    keyRange: placedIn(keyRange, uri),
    value: inFile(value, uri),
  }));
  return { ...node, range, entries };
}

const placedIn = (range: Range, uri: string): Range => (range.uri === undefined ? { ...range, uri } : range);
