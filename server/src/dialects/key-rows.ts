import type { ConfigNode } from '../config/node';
import type { FieldPath, FieldValue } from '../run/fields';
import type { KeySpec, Spelled } from './dialect';
import { type FrameworkKey, ReleasedKeys } from './framework-keys';

/** What the value of a key states of the run. */
type Statement = {
  readonly [P in FieldPath]: {
    readonly sets: P;
    readonly means?: (node: ConfigNode) => FieldValue<P> | undefined;
    readonly spellings?: Readonly<
      Partial<Record<`${Extract<FieldValue<P>, Spelled>}`, Spelled | readonly Spelled[]>>
    >;
  };
}[FieldPath];
type SetsNothing = { readonly [P in 'sets' | 'means' | 'spellings' | 'assumes']?: undefined };
type Extra = Partial<Omit<KeySpec, 'path' | 'type' | 'doc' | keyof SetsNothing>> &
  (SetsNothing | (Statement & Pick<KeySpec, 'assumes'>));

/** A key of a table: its name below the block, its type, what it means, and more. */
export type Row = readonly [name: string, type: KeySpec['type'], doc: string, extra?: Extra];

/** Rows below one parent (empty for the top level), with the documentation that they share. */
export function block(parent: string, source: string, rows: readonly Row[]): KeySpec[] {
  return rows.map(([name, type, doc, extra]) => ({ type, ...described(parent, name, source, doc, extra) }));
}

/** The properties of a row beside its type. */
function described(parent: string, name: string, source: string, doc: string, extra?: Extra) {
  const path = parent === '' ? name : `${parent}.${name}`;
  const shaped = extra?.sets ?? (extra?.brings === undefined ? undefined : ('features.unmodelled' as const));
  if (shaped === undefined) return { path, doc, source, ...extra };
  return { path, doc, source, ...extra, fields: withSet(shaped, extra?.fields) };
}

/** The field that a key sets, or that a feature belongs to, is the first that it shapes, unless the row has them in an order of its own. */
function withSet(sets: FieldPath, fields: readonly FieldPath[] = []): readonly FieldPath[] {
  return fields.includes(sets) ? fields : [sets, ...fields];
}

/**
 * A row whose type and default are those of the framework's releases; what it states of either stands in their place, and a key
 * that none of the releases has states its type.
 */
export type ReleasedRow = readonly [
  name: string,
  doc: string,
  extra?: Extra & { readonly type?: KeySpec['type'] },
];

/** Where the type and the default of a row are looked up. */
interface Lookup {
  readonly released: ReleasedKeys;
  /** Path of the key in the releases, wherever the row has been moved to. */
  readonly path: string;
  /** What the row states itself. */
  readonly stated: Partial<Pick<KeySpec, 'type' | 'default'>>;
  /** What the releases have of the key. */
  known?: FrameworkKey | 'none';
}

const LOOKUP = Symbol('lookup');

/**
 * A row of what releases have, looked up when it is asked for. There are thousands, and a start reads a few: so they share
 * the two lookups.
 */
class FromReleases implements Omit<KeySpec, 'path' | 'doc'> {
  declare readonly [LOOKUP]: Lookup;

  get type(): KeySpec['type'] {
    return (this[LOOKUP].stated.type ?? inReleases(this[LOOKUP])?.type) as KeySpec['type'];
  }

  get default(): KeySpec['default'] {
    const { stated } = this[LOOKUP];
    return ('default' in stated ? stated.default : inReleases(this[LOOKUP])?.default) as KeySpec['default'];
  }
}

function inReleases(lookup: Lookup): FrameworkKey | undefined {
  lookup.known ??= lookup.released.all(lookup.path)[0] ?? 'none';
  if (lookup.known !== 'none') return lookup.known;
  if (!lookup.stated.type) throw new Error(`no release has ${lookup.path}`);
  return undefined;
}

/** Whether the releases in use have the key of a row, where the releases tell; `versionOf` as of `ReleasedKeys`. */
export function isInUse(row: KeySpec, versionOf: (source: string) => unknown): boolean {
  const lookup = (row as { readonly [LOOKUP]?: Lookup })[LOOKUP];
  return lookup?.released.isLacking(lookup.path, versionOf) !== true;
}

/**
 * Rows below one parent whose types and defaults are those of the newest release that has the key, as
 * `server/data/framework-keys` holds them; looked up when they are asked for, so that loading a table reads no data.
 */
export function releasedBlock(
  parent: string,
  source: string,
  released: ReleasedKeys,
  rows: readonly ReleasedRow[],
): KeySpec[] {
  return rows.map(([name, doc, extra = {}]) => {
    const { type: _stated, default: _own, ...rest } = extra;
    const row = described(parent, name, source, doc, rest as Extra);
    const lookup: Lookup = { released, path: row.path, stated: extra };
    return Object.assign(new FromReleases(), row, { [LOOKUP]: lookup });
  });
}

/**
 * The same row at another path; what the releases have of it is still looked up at its own, when it is asked for. `otherwise` is
 * what differs besides, such as its file: undefined takes a property away.
 */
export function movedRow(
  path: string,
  row: KeySpec,
  otherwise: Readonly<Partial<Pick<KeySpec, 'source' | 'alias' | 'deprecated'>>> = {},
): KeySpec {
  const moved: KeySpec = Object.assign(Object.create(Object.getPrototypeOf(row)), row, otherwise, { path });
  for (const name of ['alias', 'deprecated', 'source'] as const)
    if (name in otherwise && otherwise[name] === undefined) Reflect.deleteProperty(moved, name);
  return moved;
}

/** The same row with another default. */
export function defaultingRow(row: KeySpec, value: KeySpec['default']): KeySpec {
  return { ...row, type: row.type, default: value };
}

/**
 * Keys that the tool knows and that say nothing about memory, FLOPs, batch or precision: one sentence for all. Names by type;
 * those in `released` have type and default from the framework's releases.
 */
export function inertKeys(
  parent: string,
  source: string,
  doc: string,
  { released: known = '', ...names }: Partial<Record<KeySpec['type'] | 'released', string>>,
  released = new ReleasedKeys(),
): KeySpec[] {
  const words = (list: string) => list.split(/\s+/).filter((name) => name !== '');
  const own = Object.entries(names).flatMap(([type, list]) =>
    words(list).map((name): Row => [name, type as KeySpec['type'], doc]),
  );
  const theirs = words(known).map((name): ReleasedRow => [name, doc]);
  return [...releasedBlock(parent, source, released, theirs), ...block(parent, source, own)];
}
