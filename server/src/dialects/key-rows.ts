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
  const prefix = parent === '' ? '' : `${parent}.`;
  return rows.map(([name, type, doc, extra]) => ({
    path: `${prefix}${name}`,
    type,
    doc,
    source,
    ...extra,
    ...(extra?.sets === undefined ? {} : { fields: withSet(extra.sets, extra.fields) }),
  }));
}

/** The field that a key sets is the first that it shapes, unless the row has them in an order of its own. */
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
  const plain = rows.map(([name, doc, extra]): Row => [name, extra?.type ?? 'any', doc, extra]);
  return block(parent, source, plain).map((row, index) => {
    const extra = rows[index]?.[2] ?? {};
    let known: FrameworkKey | 'none' | undefined;
    const found = () => {
      known ??= released.all(row.path)[0] ?? 'none';
      if (known !== 'none') return known;
      if (!extra.type) throw new Error(`no release has ${row.path}`);
      return undefined;
    };
    const lookups = {
      type: { enumerable: true, configurable: true, get: () => found()?.type },
      default: { enumerable: true, configurable: true, get: () => found()?.default },
    };
    for (const own of ['type', 'default'] as const) if (own in extra) Reflect.deleteProperty(lookups, own);
    return Object.defineProperties(row, lookups);
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
  const at: Record<string, PropertyDescriptor> = Object.getOwnPropertyDescriptors(row);
  for (const [name, value] of Object.entries({ ...otherwise, path })) {
    if (value === undefined) delete at[name];
    else at[name] = { enumerable: true, value };
  }
  return Object.create(Object.prototype, at) as KeySpec;
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
