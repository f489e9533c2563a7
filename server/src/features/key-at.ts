import { type KeyPath, spotAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import type { KeySpec } from '../dialects/dialect';
import type { Position, Range } from '../run/origin';
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
  const spot = spotAt(analysis.document.root, position);
  if (!spot?.entry || (!spot.onKey && spot.node.kind !== 'scalar')) {
    return undefined;
  }
  const path = withoutItem(spot.path);
  return {
    path: path.join('.'),
    keyRange: spot.entry.keyRange,
    node: spot.entry.value,
    onValue: !spot.onKey,
    spec: findSpec(analysis.dialect.keys, path) ?? analysis.dialect.rowAt?.(path),
  };
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
