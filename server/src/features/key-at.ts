import { type KeyPath, type Spot, spotAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import { pythonSpots } from '../config/python/spots';
import { scriptSpots, shownInScript } from '../config/shell/spots';
import type { KeySpec } from '../dialects/dialect';
import type { Position, Range } from '../text/place';
import type { Analysis } from '../workspace/analysis';

/** A key of a config file that a position is on. */
export interface KeyPlace {
  readonly path: string;
  readonly keyRange: Range;
  readonly node: ConfigNode;
  /** True on the value, false on the key. */
  readonly onValue: boolean;
  /** Undefined where the dialect does not know the key. */
  readonly spec?: KeySpec;
}

/** The key whose name or plain value is at the position; between keys there is none. */
export function keyAt(analysis: Analysis, position: Position): KeyPlace | undefined {
  const { root, format } = analysis.document;
  if (format !== 'shell' && format !== 'python') return placeOf(analysis, spotAt(root, position));
  // Several commands or calls may take a variable: the one that the file is for knows its keys.
  const spots = format === 'shell' ? scriptSpots(root, position) : pythonSpots(root, position);
  const places = spots.map((spot) => placeOf(analysis, spot));
  return places.find((place) => place?.spec) ?? places[0];
}

function placeOf(analysis: Analysis, spot: Spot | undefined): KeyPlace | undefined {
  if (!spot?.entry || (!spot.onKey && spot.node.kind !== 'scalar')) {
    return undefined;
  }
  const path = withoutItem(spot.path);
  return {
    path: analysis.document.format === 'shell' ? shownInScript(path) : path.join('.'),
    keyRange: spot.entry.keyRange,
    node: spot.entry.value,
    onValue: !spot.onKey,
    spec: specAt(analysis, path),
  };
}

/** The row of a key: of the program that a script starts, of the family, or of what may stand anywhere in it. */
function specAt({ dialect, reading }: Analysis, path: KeyPath): KeySpec | undefined {
  for (const { below, rows } of reading.keys ?? []) {
    const inside = below.length < path.length && below.every((part, i) => part === path[i]);
    const found = inside && findSpec(rows, path.slice(below.length));
    if (found) return found;
  }
  return findSpec(dialect.keys, path) ?? dialect.rowAt?.(path);
}

/** An item of a list speaks for the key that holds the list. */
function withoutItem(path: KeyPath): KeyPath {
  let end = path.length;
  while (end > 0 && /^\[\d+\]$/.test(path[end - 1] ?? '')) {
    end -= 1;
  }
  return path.slice(0, end);
}

/** The key's own row, or else the row whose `*` segments match it. */
function findSpec(keys: readonly KeySpec[], path: KeyPath): KeySpec | undefined {
  const dotted = path.join('.');
  return (
    keys.find((spec) => spec.path === dotted) ??
    keys.find((spec) => spec.path.includes('*') && matches(spec.path.split('.'), path))
  );
}

function matches(pattern: readonly string[], path: KeyPath): boolean {
  return pattern.length === path.length && pattern.every((part, i) => part === '*' || part === path[i]);
}
