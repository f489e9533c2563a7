import { didYouMean } from '../wording/closest';
import { say } from '../wording/say';
import {
  FIELD_PATHS,
  FIELDS,
  type FieldPath,
  type FieldSpec,
  type FieldValue,
  type IntegerField,
  type NumberField,
} from './fields';
import { type Fact, fact, type Origin } from './origin';

/** A value read, or why it was not accepted, as a sentence without the field's name. */
type Parsed<T> = { readonly value: T } | { readonly error: string };

const byName = new Map<string, FieldPath>();
const normalize = (name: string) => name.toLowerCase().replace(/[-_\s]/g, '');
for (const path of FIELD_PATHS) {
  byName.set(normalize(path), path);
}
for (const path of FIELD_PATHS) {
  const spec: FieldSpec = FIELDS[path];
  for (const alias of spec.aliases ?? []) {
    if (!byName.has(normalize(alias))) {
      byName.set(normalize(alias), path);
    }
  }
}

/** Field by its path or an alias; dashes, underscores and case do not matter. */
export function findField(name: string): FieldPath | undefined {
  return byName.get(normalize(name));
}

/** Names by which people may call fields: paths, then aliases. */
export function fieldNames(): readonly string[] {
  return NAMES;
}

const NAMES: readonly string[] = [
  ...new Set([
    ...FIELD_PATHS,
    ...FIELD_PATHS.flatMap((path) => {
      const spec: FieldSpec = FIELDS[path];
      return spec.aliases ?? [];
    }),
  ]),
];

/** The shortest name of a field: what messages and examples call it. */
export function shortAlias(path: FieldPath): string {
  const spec: FieldSpec = FIELDS[path];
  return spec.aliases?.[0] ?? path;
}

/** Reports that there is no such field, with near names. */
export function unknownFieldMessage(name: string): string {
  return say('There is no field "{0}".{1}', clip(name), didYouMean(name, fieldNames()));
}

/** Synonyms that people write for a value, over all choice fields. */
const CHOICE_SYNONYMS: Readonly<Record<string, string>> = {
  float32: 'fp32',
  float: 'fp32',
  tf32: 'fp32',
  bfloat16: 'bf16',
  float16: 'fp16',
  half: 'fp16',
  float8: 'fp8',
  flashattention2: 'flash2',
  flashattention3: 'flash3',
  flashattention: 'flash2',
  flexattention: 'flex',
};

const DECIMAL: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 };
const BINARY: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** More characters are no number that anybody meant. */
const LONGEST_NUMBER = 200;

/** Largest count that is believed where the field has no unit: more is a slip of the keyboard. */
const LARGEST_COUNT = 1e9;
/** No cluster has as many. */
const MOST_GPUS = 1e6;

const clip = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
const shown = (raw: unknown) =>
  clip(typeof raw === 'string' ? `"${raw}"` : (JSON.stringify(raw) ?? String(raw)));

/** What fields of whole numbers take, by their unit. */
export const WHOLE_NUMBERS: Readonly<Record<NonNullable<IntegerField['unit']> | 'none', string>> = {
  none: 'a whole number',
  bytes: 'a whole number of bytes',
  elements: 'a whole number of elements',
  tokens: 'a whole number of tokens',
  GPUs: 'a whole number of GPUs',
};

function within(what: string, { minimum, maximum }: IntegerField | NumberField): string {
  if (minimum === undefined && maximum === undefined) return what;
  if (minimum === undefined) return say('{0} to {1}', what, String(maximum));
  if (maximum === undefined) return say('{0} from {1}', what, String(minimum));
  return say('{0} from {1} to {2}', what, String(minimum), String(maximum));
}

function accepted(spec: FieldSpec): string {
  switch (spec.type) {
    case 'integer': {
      const what = within(say(WHOLE_NUMBERS[spec.unit ?? 'none']), spec);
      if (spec.unit === 'bytes') return say('{0} (such as {1} or {2})', what, '80GiB', '85899345920');
      return spec.unit === 'elements' ? say('{0} (such as {1})', what, '5e8') : what;
    }
    case 'number':
      return within(say('a number'), spec);
    case 'flag':
      return say('true or false');
    case 'choice':
      return say('one of {0}', spec.values.join(', '));
    case 'list':
      return say('a list of names, or names with commas between');
    case 'object':
      return say('an object with the keys of a config.json');
    case 'text':
      return say('a text');
  }
}

const isNot = (raw: unknown, spec: FieldSpec) => say('{0} is not {1}', shown(raw), accepted(spec));

function scale(spec: IntegerField, suffix: string): number | { error: string } {
  const lower = suffix.toLowerCase();
  const letter = lower[0] ?? '';
  if (spec.unit === 'bytes') {
    if (/^[kmgt]ib$/.test(lower)) {
      return BINARY[letter] ?? 1;
    }
    if (/^[kmgt]b$/.test(lower)) {
      return DECIMAL[letter] ?? 1;
    }
    return lower === 'b' ? 1 : { error: say('"{0}" may count in 1000s or 1024s: write GiB or GB', suffix) };
  }
  if (/^[kmgt]i$/.test(lower)) {
    return BINARY[letter] ?? 1;
  }
  if (lower === 'k' && spec.unit === 'tokens') {
    return { error: say('"k" may mean 1000 or 1024 tokens: write the number, or "Ki" for 1024') };
  }
  return DECIMAL[lower] ?? { error: say('"{0}" is no unit that is known here', suffix) };
}

function parseNumber(spec: IntegerField | NumberField, raw: unknown): Parsed<number> {
  let value: number;
  if (typeof raw === 'number') {
    value = raw;
  } else if (typeof raw === 'string') {
    const match =
      raw.length > LONGEST_NUMBER
        ? null
        : /^([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?)\s*([a-z]{0,3})$/i.exec(raw.trim());
    if (!match) {
      return { error: isNot(raw, spec) };
    }
    value = Number((match[1] ?? '').replaceAll('_', ''));
    const suffix = match[2] ?? '';
    if (suffix !== '') {
      if (spec.type === 'number') {
        return { error: isNot(raw, spec) };
      }
      const factor = scale(spec, suffix);
      if (typeof factor !== 'number') {
        return factor;
      }
      // 1.5 GiB is a whole number of bytes, 0.1 GB up to rounding.
      value =
        Math.abs(value * factor - Math.round(value * factor)) < 1e-3
          ? Math.round(value * factor)
          : value * factor;
    }
  } else {
    return { error: isNot(raw, spec) };
  }
  return checkNumber(spec, value, raw);
}

function checkNumber(spec: IntegerField | NumberField, value: number, raw: unknown): Parsed<number> {
  if (!Number.isFinite(value)) {
    return { error: isNot(raw, spec) };
  }
  if (spec.type === 'integer') {
    if (!Number.isInteger(value)) {
      return { error: isNot(raw, spec) };
    }
    const largest =
      spec.unit === 'GPUs' ? MOST_GPUS : spec.unit === undefined ? LARGEST_COUNT : Number.MAX_SAFE_INTEGER;
    if (value > largest) {
      return { error: say('{0} is too large to be meant', shown(raw)) };
    }
  }
  if (spec.minimum !== undefined && value < spec.minimum) {
    return { error: say('{0} is below {1}', shown(raw), spec.minimum) };
  }
  if (spec.maximum !== undefined && value > spec.maximum) {
    return { error: say('{0} is above {1}', shown(raw), spec.maximum) };
  }
  return { value };
}

function parseFlag(spec: FieldSpec, raw: unknown): Parsed<boolean> {
  if (typeof raw === 'boolean') {
    return { value: raw };
  }
  const word = String(raw).trim().toLowerCase();
  if (/^(true|yes|on|1)$/.test(word)) {
    return { value: true };
  }
  return /^(false|no|off|0)$/.test(word) ? { value: false } : { error: isNot(raw, spec) };
}

function parseChoice(values: readonly string[], raw: unknown): Parsed<string> {
  // YAML reads a bare `no` or `off` as false: for a choice with "none" that is what is meant.
  const word = raw === false ? 'none' : String(raw).trim();
  const wanted = normalize(word);
  const value =
    values.find((candidate) => normalize(candidate) === wanted) ??
    values.find((candidate) => candidate === CHOICE_SYNONYMS[wanted]);
  return value === undefined
    ? { error: say('{0} is not one of {1}.{2}', shown(raw), values.join(', '), didYouMean(word, values)) }
    : { value };
}

function parseBySpec(spec: FieldSpec, raw: unknown): Parsed<unknown> {
  if (raw === null || raw === undefined) {
    return { error: say('no value is given; accepted is {0}', accepted(spec)) };
  }
  switch (spec.type) {
    case 'integer':
    case 'number':
      return parseNumber(spec, raw);
    case 'flag':
      return parseFlag(spec, raw);
    case 'choice':
      return parseChoice(spec.values, raw);
    case 'text': {
      const ok = typeof raw === 'string' || typeof raw === 'number';
      const value = String(raw).trim();
      return ok && value !== '' ? { value } : { error: isNot(raw, spec) };
    }
    case 'list': {
      const items = typeof raw === 'string' ? raw.split(',').map((item) => item.trim()) : raw;
      return Array.isArray(items) && items.every((item) => typeof item === 'string')
        ? { value: items.filter((item) => item !== '') }
        : { error: isNot(raw, spec) };
    }
    case 'object':
      return objectOf(raw) ?? { error: isNot(raw, spec) };
  }
}

/** An object, or the text of one as JSON writes it. */
function objectOf(raw: unknown): { readonly value: object } | undefined {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) return { value: raw };
  if (typeof raw !== 'string' || !raw.trim().startsWith('{')) return undefined;
  try {
    return objectOf(JSON.parse(raw));
  } catch {
    return undefined;
  }
}

/**
 * Reads a written value as the field's type: text from a command line or a directive, or a value from JSON or YAML.
 * Sizes may be written `5e8`, `500M` (elements), `80GiB` (bytes). The error states what is accepted.
 */
export function parseField<P extends FieldPath>(path: P, raw: unknown): Parsed<FieldValue<P>> {
  return parseBySpec(FIELDS[path], raw) as Parsed<FieldValue<P>>;
}

/**
 * Reads a value into a fact, or names why not; `rejected` is what was stated all the same, so that nothing else is taken for it
 * without a word.
 */
export function parseFact(
  path: FieldPath,
  raw: unknown,
  origin: Origin,
): { readonly value: Fact } | { readonly error: string; readonly rejected: Fact } {
  const parsed = parseField(path, raw);
  return 'error' in parsed
    ? { error: parsed.error, rejected: fact(path, raw as FieldValue<FieldPath>, origin) }
    : { value: fact(path, parsed.value, origin) };
}

/** Why a typed value cannot be meant (not finite, below the minimum, not a choice), or undefined where it can. */
export function fieldError(path: FieldPath, value: unknown): string | undefined {
  const spec: FieldSpec = FIELDS[path];
  if (spec.type === 'integer' || spec.type === 'number') {
    const checked =
      typeof value === 'number' ? checkNumber(spec, value, value) : { error: isNot(value, spec) };
    return 'error' in checked ? checked.error : undefined;
  }
  // Most values are already as the field has them; reading them again would cost as much as the rest of a resolution.
  if (spec.type === 'choice' && spec.values.includes(value as string)) return undefined;
  if (spec.type === 'flag' && typeof value === 'boolean') return undefined;
  const parsed = parseBySpec(spec, value);
  return 'error' in parsed ? parsed.error : undefined;
}
