import { isAtLeast } from '../terms/version';
import type { Behaviours } from './behaviours';
import type { Products } from './products';
import { type BehaviourCase, type BehaviourRow, TABLE } from './table';

/** What these products do. */
export function behavioursOf(products: Products): Behaviours {
  return decideAll<Behaviours>(TABLE, products);
}

/** A row for each name, and a value of the name's type from each row. */
function decideAll<T>(
  rows: { readonly [N in keyof T]: BehaviourRow<T[N]> },
  products: Products,
): { readonly [N in keyof T]: T[N] } {
  const found: { -readonly [N in keyof T]?: T[N] } = {};
  for (const name of Object.keys(rows) as (keyof T)[]) found[name] = decided(rows[name], products);
  return found as T;
}

function decided<V>({ cases, otherwise }: BehaviourRow<V>, products: Products): V {
  const first = cases.find((one) => holds(one, products));
  return first ? first.value : otherwise;
}

function holds({ code, scheme, library }: BehaviourCase<unknown>, products: Products): boolean {
  if (code && !code.includes(products.code)) return false;
  if (scheme && !scheme.includes(products.scheme)) return false;
  if (!library) return true;
  const version = products.versions[library.of];
  if (library.since !== undefined && isAtLeast(version, library.since) !== true) return false;
  return library.before === undefined || isAtLeast(version, library.before) === false;
}
