import type { Position } from '../../text/place';
import { holds, type KeyPath, mapAt, nodeAt, type Spot, spotAt } from '../lookup';
import type { ConfigNode, MapEntry } from '../node';

const BLOCKS = ['arguments', 'launcher', 'wrapper', 'environment'] as const;

/**
 * What lies at a position of a script: flags by their names and values, and by the variables that their values come
 * from, where these are set and where they are used. A variable that several flags take gives them all.
 */
export function scriptSpots(root: ConfigNode | null, position: Position): Spot[] {
  const written = spotsOf(mapAt(root, 'files')?.entries, ['files'], position);
  if (written.length > 0) return written;
  const commands = nodeAt(root, 'commands');
  const found = commands?.kind === 'list' ? commands.items : [];
  const flags = found.flatMap((command, i) => {
    const spots = BLOCKS.flatMap((block) =>
      spotsOf(mapAt(command, block)?.entries, ['commands', `[${i}]`, block], position),
    );
    // A variable that holds many flags is none of them where it is used.
    const written = spots.filter(({ onKey, node }) => onKey || holds(node.range, position));
    return spots.length - written.length > 1 ? written : spots;
  });
  return [...flags, ...spotsOf(mapAt(root, 'sbatch')?.entries, ['sbatch'], position)];
}

function spotsOf(entries: readonly MapEntry[] | undefined, below: KeyPath, position: Position): Spot[] {
  return (entries ?? []).flatMap((entry): Spot[] => {
    const { key, keyRange, value } = entry;
    const path = [...below, key];
    // A flag without a value lies where its name is.
    const sameRange = value.range === keyRange;
    if (holds(keyRange, position) && (value.kind !== 'map' || !sameRange) && below[0] !== 'files')
      return [{ path, entry, node: value, onKey: true }];
    if (value.kind === 'scalar') {
      const used = value.used !== undefined && holds(value.used, position);
      return used || holds(value.range, position) ? [{ path, entry, node: value, onKey: false }] : [];
    }
    if (!holds(value.range, position)) return [];
    const inner = spotAt(value, position);
    return inner ? [{ ...inner, path: [...path, ...inner.path], entry: inner.entry ?? entry }] : [];
  });
}

/** A key's path as people write it in a script: `--flag`, `VARIABLE`, a key of a file that it writes. */
export function shownInScript(path: KeyPath): string {
  const [first, , block] = path;
  const name = path.at(-1) ?? '';
  if (first === 'files') return path.slice(2).join('.');
  if (first === 'sbatch') return `#SBATCH --${name.replaceAll('_', '-')}`;
  return block === 'environment' ? name : `--${name}`;
}
