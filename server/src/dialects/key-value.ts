import type { ConfigNode, ScalarNode } from '../config/node';
import { flagOf, integerOf, numberOf, plainOf, textOf, textsOf } from '../config/scalar';
import { FIELDS, type FieldPath, type FieldSpec } from '../run/fields';
import { isAtLeast } from '../terms/version';
import type { KeySpec, Spelled, Spellings } from './dialect';
import { defaultingRow } from './key-rows';

/** What a value states of the field that its row sets; undefined where it states nothing. */
export function statedBy({ sets, means, spellings }: KeySpec, node: ConfigNode): unknown {
  if (sets === undefined) return undefined;
  if (means) return means(node);
  return spellings ? spelledBy(sets, spellings, node) : plainValue(sets, node);
}

/** What the default of a row states; undefined where it states nothing. None is false to Python. */
export function defaultOf(row: KeySpec): unknown {
  const { sets, default: value } = row;
  if (sets === undefined || value === undefined) return undefined;
  if (value === null) return FIELDS[sets].type === 'flag' ? false : undefined;
  return statedBy(row, written(value));
}

/** The row with the default of the versions that a run uses, and the release that changed it; `newer` where the run has that. */
export function inVersion(
  row: KeySpec,
  known: Readonly<Record<string, unknown>>,
): { readonly row: KeySpec; readonly changed?: { readonly since: string; readonly newer: boolean } } {
  const { defaults } = row;
  if (!defaults) return { row };
  const atLeast = isAtLeast(known[defaults.of], defaults.since);
  const newer = defaults.of in FIELDS ? atLeast === true : atLeast !== false;
  const value = newer ? defaults.after : defaults.before;
  return { row: defaultingRow(row, value), changed: { since: defaults.since, newer } };
}

/** The word by which a row states a value of the field that it sets; undefined where it has none. */
export function wordOf(row: KeySpec, value: unknown): Spelled | undefined {
  if (row.spellings) return first(row.spellings[String(value)]);
  return isPlain(row, value) && statedBy(row, written(value)) === value ? value : undefined;
}

/** Whether a key takes a value as it is. Texts are taken where the row lists them: names are often the framework's own. */
function isPlain({ type, values }: KeySpec, value: unknown): value is Spelled {
  if (typeof value === 'string') return values?.includes(value) ?? false;
  if (typeof value === 'boolean') return type === 'boolean';
  return typeof value === 'number' && (type === 'integer' || type === 'number' || type === 'any');
}

function spelledBy(field: FieldPath, spellings: Spellings, node: ConfigNode): unknown {
  for (const [name, words] of Object.entries(spellings))
    if (all(words).some((word) => isWord(node, word))) return named(field, name);
  return undefined;
}

function isWord(node: ConfigNode, word: Spelled): boolean {
  if (typeof word === 'boolean') return flagOf(node) === word;
  if (typeof word === 'number') return numberOf(node) === word;
  return textOf(node)?.toLowerCase() === word.toLowerCase();
}

/** The value of a field by its name in `spellings`. */
function named(field: FieldPath, name: string): unknown {
  const { type } = FIELDS[field];
  if (type === 'flag') return name === 'true';
  return type === 'integer' || type === 'number' ? Number(name) : name;
}

/** A value as a field of its type is written. */
function plainValue(field: FieldPath, node: ConfigNode): unknown {
  const spec: FieldSpec = FIELDS[field];
  switch (spec.type) {
    case 'integer':
      return wholeOf(node);
    case 'number':
      return numberOf(node);
    case 'flag':
      return flagOf(node);
    case 'text':
    case 'choice':
      return textOf(node);
    case 'list':
      return textsOf(node);
    case 'object':
      return node.kind === 'map' ? plainOf(node) : undefined;
  }
}

/** A whole number, also one that is too large to be exact: it is stated, though it cannot be meant. */
export function wholeOf(node: ConfigNode): number | undefined {
  const value = numberOf(node);
  return value !== undefined && Number.isInteger(value) ? value : undefined;
}

/** A whole number above 0; frameworks write the others for none. */
export function positive(node: ConfigNode): number | undefined {
  const value = integerOf(node);
  return value !== undefined && value > 0 ? value : undefined;
}

/** A number above 0; frameworks write the others for none. */
export function above0(node: ConfigNode): number | undefined {
  const value = numberOf(node);
  return value !== undefined && value > 0 ? value : undefined;
}

/** Whether a number is written for none where only those above 0 are read. */
export function isNumberForNone(means: unknown, node: ConfigNode): boolean {
  const value = means === positive || means === above0 ? numberOf(node) : undefined;
  return value !== undefined && value <= 0;
}

/** Whether there are any: a number of steps or samples, of which 0 is none. */
export function happens(node: ConfigNode): boolean | undefined {
  const count = integerOf(node);
  return count === undefined ? undefined : count > 0;
}

/** Bytes of a size that is written in MiB. */
export function mebibytes(node: ConfigNode): number | undefined {
  const size = integerOf(node);
  return size === undefined ? undefined : size * 2 ** 20;
}

const all = (words: Spelled | readonly Spelled[] | undefined): readonly Spelled[] =>
  words === undefined ? [] : isList(words) ? words : [words];
const first = (words: Spelled | readonly Spelled[] | undefined) => all(words)[0];
const isList = (words: Spelled | readonly Spelled[]): words is readonly Spelled[] => Array.isArray(words);

/** A value as it would stand in a file. */
function written(value: Spelled): ScalarNode {
  const nowhere = { line: 0, character: 0 };
  return {
    kind: 'scalar',
    value,
    text: String(value),
    quoted: false,
    range: { start: nowhere, end: nowhere },
  };
}
