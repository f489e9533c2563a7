import type { ConfigNode } from '../config/node';
import type { FieldPath, FieldValue } from '../run/fields';
import type { KeySpec, Spelled } from './dialect';
import type { ReleasedKeys } from './framework-keys';

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
type Silent = { readonly [P in 'sets' | 'means' | 'spellings' | 'assumes']?: undefined };
type Extra = Partial<Omit<KeySpec, 'path' | 'type' | 'doc' | keyof Silent>> &
  (Silent | (Statement & Pick<KeySpec, 'assumes'>));

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

/** A row whose type and default the framework's releases say. */
export type ReleasedRow = readonly [
  name: string,
  doc: string,
  extra?: Extra & { readonly default?: undefined },
];

/**
 * Rows below one parent whose types and defaults are those of the newest release that has the key, as
 * `server/data/framework-keys` holds them; looked up when they are asked for.
 */
export function releasedBlock(
  parent: string,
  source: string,
  released: ReleasedKeys,
  rows: readonly ReleasedRow[],
): KeySpec[] {
  const plain = rows.map(([name, doc, extra]): Row => [name, 'any', doc, extra]);
  return block(parent, source, plain).map((row) => {
    const found = () => {
      const [key] = released.all(row.path);
      if (!key) throw new Error(`no release has ${row.path}`);
      return key;
    };
    return Object.defineProperties(row, {
      type: { enumerable: true, get: () => found().type },
      default: { enumerable: true, get: () => found().default },
    });
  });
}

/** Keys that the tool knows and that say nothing about memory, FLOPs, batch or precision: one sentence for all. */
export function inertKeys(
  parent: string,
  source: string,
  doc: string,
  names: Partial<Record<KeySpec['type'], string>>,
): KeySpec[] {
  const prefix = parent === '' ? '' : `${parent}.`;
  return Object.entries(names).flatMap(([type, list]) =>
    list
      .trim()
      .split(/\s+/)
      .map((name) => ({ path: `${prefix}${name}`, type: type as KeySpec['type'], doc, source })),
  );
}
