import { CATEGORIES, type Category, type Part } from '../estimate-types';

/** Bytes per GPU by category, indexed as `CATEGORIES`. */
export type Ledger = Float64Array;

const INDEX = Object.fromEntries(CATEGORIES.map((category, index) => [category, index])) as Readonly<
  Record<Category, number>
>;

export function emptyLedger(): Ledger {
  return new Float64Array(CATEGORIES.length);
}

/** Adds bytes to one category, in place. */
export function post(ledger: Ledger, category: Category, bytes: number): void {
  const index = INDEX[category];
  ledger[index] = (ledger[index] ?? 0) + bytes;
}

/** A new ledger: the sum of all, each multiplied by its factor. */
export function combine(...terms: readonly (Ledger | readonly [Ledger, number])[]): Ledger {
  const sum = emptyLedger();
  for (const term of terms) {
    const [ledger, factor] = term instanceof Float64Array ? [term, 1] : term;
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + factor * (ledger[i] ?? 0);
  }
  return sum;
}

/** Bytes of one category. */
export function bytesOf(ledger: Ledger, category: Category): number {
  return ledger[INDEX[category]] ?? 0;
}

export function totalOf(ledger: Ledger): number {
  let total = 0;
  for (const bytes of ledger) total += bytes;
  return total;
}

/** Categories with bytes, as integers. Cents of rounding go to the largest part so that the sum stays the total. */
export function partsOf(ledger: Ledger): Part[] {
  const parts: { category: Category; bytes: number }[] = [];
  CATEGORIES.forEach((category, index) => {
    const bytes = Math.round(ledger[index] ?? 0);
    if (bytes > 0) parts.push({ category, bytes });
  });
  return parts;
}
