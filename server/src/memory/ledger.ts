import { CATEGORIES, type Category, type Part } from '../results/estimate';
import type { Source } from '../results/source';

/**
 * Bytes per GPU by category, indexed as `CATEGORIES`. A plain array: V8 makes one several times faster than a typed array of
 * this size, whose store lies outside its heap, and an estimate makes thousands.
 */
export type Ledger = number[];

const INDEX = Object.fromEntries(CATEGORIES.map((category, index) => [category, index])) as Readonly<
  Record<Category, number>
>;

/** Zeros that V8 keeps as doubles: it stays with the kind of number that an array was made with. */
const ZEROS: Ledger = Array.from(CATEGORIES, () => 0.5).fill(0);

/** Zero bytes in every category. */
export function emptyLedger(): Ledger {
  return ZEROS.slice();
}

/**
 * What posted bytes are: an object of the tape (storage, tensor, weight, operation) or `LabelWords`. Posts with the same label
 * add up, so what is freed under the label that it was allocated under leaves nothing.
 */
export type Label = object;

/** A label for what is no object of the tape. */
export interface LabelWords {
  /** For people: `gradient buckets`. */
  readonly name: string;
  /** With this run's numbers: `2 x 500 M elements x 2 B`. */
  readonly formula: string;
  /** What the formula follows: a known source, or a permanent address. */
  readonly source?: Source | string;
}

/** Bytes by label, per category; undefined of those that nothing was posted to. */
export type Items = readonly (ReadonlyMap<Label, number> | undefined)[];
type Journal = WeakMap<Ledger, (Map<Label, number> | undefined)[]>;

/** Most ledgers have bytes of a few categories, and an explanation makes thousands of ledgers. */
const NO_ITEMS: readonly undefined[] = CATEGORIES.map(() => undefined);

/** Only while `journaled` runs: what the bytes of each ledger are. Nothing is noted otherwise, and nothing is spent. */
let journal: Journal | undefined;

/** Runs a task with a journal, which tells of any ledger made in it what its bytes are. */
export function journaled<R>(task: () => R): {
  readonly result: R;
  readonly itemsOf: (ledger: Ledger) => Items;
} {
  const outer = journal;
  const own: Journal = new WeakMap();
  journal = own;
  try {
    return { result: task(), itemsOf: (ledger) => own.get(ledger) ?? [] };
  } finally {
    journal = outer;
  }
}

/** Whether a journal is kept at the moment. */
export function isJournaled(): boolean {
  return journal !== undefined;
}

/** What the bytes of one category are. Posts without a label are missing. */
export function itemsIn(items: Items, category: Category): ReadonlyMap<Label, number> {
  return items[INDEX[category]] ?? new Map();
}

/** Labels anew what the bytes of one category of a ledger are, for posts that could not tell. */
export function retell(
  ledger: Ledger,
  category: Category,
  items: Iterable<readonly [label: Label, bytes: number]>,
): void {
  if (!journal) return;
  journal.get(ledger)?.[INDEX[category]]?.clear();
  for (const [label, bytes] of items) write(journal, ledger, INDEX[category], bytes, label);
}

/** What is noted of a ledger. */
function notesOf(into: Journal, ledger: Ledger): (Map<Label, number> | undefined)[] {
  let items = into.get(ledger);
  if (!items) {
    items = NO_ITEMS.slice();
    into.set(ledger, items);
  }
  return items;
}

function write(into: Journal, ledger: Ledger, index: number, bytes: number, label: Label): void {
  const items = notesOf(into, ledger);
  let map = items[index];
  if (!map) {
    map = new Map();
    items[index] = map;
  }
  const sum = (map.get(label) ?? 0) + bytes;
  // What adding and taking away fractions of bytes leaves is nothing.
  if (Math.abs(sum) < 1e-3) map.delete(label);
  else map.set(label, sum);
}

/** Adds bytes to one category, in place. The label states what they are. */
export function post(ledger: Ledger, category: Category, bytes: number, label?: Label): void {
  const index = INDEX[category];
  ledger[index] = (ledger[index] ?? 0) + bytes;
  if (journal && label) write(journal, ledger, index, bytes, label);
}

/** Takes all bytes of one category away, in place. */
export function empty(ledger: Ledger, category: Category): void {
  ledger[INDEX[category]] = 0;
  retell(ledger, category, []);
}

/** A ledger of its own with the same bytes. One that is needed no more may be handed in to be written over. */
export function copyOf(ledger: Ledger, over?: Ledger): Ledger {
  if (journal) return combine(ledger);
  if (!over) return ledger.slice();
  for (let i = 0; i < over.length; i++) over[i] = ledger[i] ?? 0;
  return over;
}

/** Adds what is noted of one ledger to what is noted of a sum of it and others. */
function addNotes(journal: Journal, sum: Ledger, noted: Items, factor: number): void {
  const own = notesOf(journal, sum);
  for (let index = 0; index < noted.length; index++) {
    const items = noted[index];
    if (!items || items.size === 0) continue;
    if (factor === 1 && !own[index]) own[index] = new Map(items);
    else for (const [label, bytes] of items) write(journal, sum, index, factor * bytes, label);
  }
}

/** A ledger, or one with the factor that it counts with. */
export type Term = Ledger | readonly [Ledger, number];

function isScaled(term: Term): term is readonly [Ledger, number] {
  return typeof term[0] === 'object';
}

/** A new ledger: the sum of all, each multiplied by its factor. */
export function combine(...terms: readonly Term[]): Ledger {
  const sum = emptyLedger();
  for (const term of terms) {
    const scaled = isScaled(term);
    const ledger = scaled ? term[0] : term;
    const factor = scaled ? term[1] : 1;
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + factor * (ledger[i] ?? 0);
    if (!journal || factor === 0) continue;
    const noted = journal.get(ledger);
    if (noted) addNotes(journal, sum, noted, factor);
  }
  return sum;
}

/** Bytes of one category. */
export function bytesOf(ledger: Ledger, category: Category): number {
  return ledger[INDEX[category]] ?? 0;
}

/** Bytes of all categories, fractions included. */
export function totalOf(ledger: Ledger): number {
  let total = 0;
  for (let i = 0; i < ledger.length; i++) total += ledger[i] ?? 0;
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
