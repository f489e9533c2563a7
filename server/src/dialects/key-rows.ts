import type { KeySpec } from './dialect';

type Extra = Partial<Omit<KeySpec, 'path' | 'type' | 'doc'>>;
/** A key of a table: its name below the block, its type, what it means, and more. */
export type Row = readonly [name: string, type: KeySpec['type'], doc: string, extra?: Extra];

/** Rows below one parent (empty for the top level), with the documentation that they share. */
export function block(parent: string, source: string, rows: readonly Row[]): KeySpec[] {
  const prefix = parent === '' ? '' : `${parent}.`;
  return rows.map(([name, type, doc, extra]) => ({ path: `${prefix}${name}`, type, doc, source, ...extra }));
}

/** Keys that the tool knows and that say nothing about memory, FLOPs, batch or precision: one sentence for all. */
export function silent(
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
