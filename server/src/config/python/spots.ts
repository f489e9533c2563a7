import type { Position } from '../../text/place';
import { holds, type Spot, spotAt } from '../lookup';
import type { ConfigNode } from '../node';

/**
 * What lies at a position of a Python text: arguments by their names and values, and by the names that their values come from,
 * where these are bound and where they are used. Several calls may take one value: it is reported for each.
 */
export function pythonSpots(root: ConfigNode | null, position: Position): Spot[] {
  if (root?.kind !== 'map') return [];
  return root.entries.flatMap(({ key: call, value: block }) =>
    block.kind !== 'map'
      ? []
      : block.entries.flatMap((entry): Spot[] => {
          const { key, keyRange, value } = entry;
          const path = [call, key];
          if (holds(keyRange, position)) return [{ path, entry, node: value, onKey: true }];
          const used = value.kind === 'scalar' && value.used !== undefined && holds(value.used, position);
          if (!used && !holds(value.range, position)) return [];
          const inner = value.kind === 'scalar' ? undefined : spotAt(value, position);
          return inner
            ? [{ ...inner, path: [...path, ...inner.path], entry: inner.entry ?? entry }]
            : [{ path, entry, node: value, onKey: false }];
        }),
  );
}
