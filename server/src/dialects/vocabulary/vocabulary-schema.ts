import { FIELD_PATHS, FIELDS } from '../../run/fields';
import type { KeySpec } from '../dialect';
import { RULE_KEYS, VOCABULARY_KEYS } from './vocabulary-keys';

type Schema = Readonly<Record<string, unknown>>;

/** What a run field takes in a vocabulary: a word, a number, or `= expression`. */
const PLAIN: Schema = { type: ['string', 'number', 'boolean'] };
const TEXTS: Schema = { type: 'array', items: { type: ['string', 'number'] } };

/** Run fields by name, each with its documentation, so that editors complete them. */
function fieldMap(value: Schema): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      FIELD_PATHS.map((path) => [path, { ...value, description: FIELDS[path].doc }]),
    ),
  };
}

/** What the table's types cannot say. */
const SHAPES: Readonly<Record<string, Schema>> = {
  'detect.markers': TEXTS,
  'keys.*.aliases': TEXTS,
  'keys.*.values': TEXTS,
  'keys.*.default': PLAIN,
  'keys.*.sets': {
    anyOf: [
      { enum: FIELD_PATHS },
      fieldMap({ anyOf: [PLAIN, { type: 'object', additionalProperties: PLAIN }] }),
    ],
  },
  shorthands: { type: 'array', items: { type: 'string' } },
  defaults: fieldMap({}),
  derived: fieldMap({ type: 'string' }),
  model: { type: 'object', additionalProperties: PLAIN },
};

function propertiesBelow(parent: string, keys: readonly KeySpec[]): Record<string, Schema> {
  const prefix = parent === '' ? '' : `${parent}.`;
  const own = keys.filter(
    ({ path }) => path.startsWith(prefix) && !path.slice(prefix.length).includes('.') && path !== parent,
  );
  return Object.fromEntries(own.map((row) => [row.path.slice(prefix.length), schemaOfRow(row, keys)]));
}

function schemaOfRow(row: KeySpec, keys: readonly KeySpec[]): Schema {
  const base: Schema = {
    description: row.doc,
    ...(row.default === undefined ? {} : { default: row.default }),
  };
  const shape = SHAPES[row.path];
  if (shape) return { ...base, ...shape };
  if (row.values) return { ...base, enum: row.values };
  const { '*': named, ...inner } = propertiesBelow(row.path, keys);
  if (named) return { ...base, type: 'object', additionalProperties: named };
  return Object.keys(inner).length > 0
    ? { ...base, type: 'object', properties: inner, additionalProperties: false }
    : { ...base, ...(row.type === 'any' ? {} : { type: row.type }) };
}

/** JSON Schema (draft 7) of vocabulary files, made from the table that checks them: for editors that complete from schemas. */
export function vocabularySchema(): Schema {
  const rule = {
    type: 'object',
    properties: propertiesBelow('', RULE_KEYS),
    required: ['when', 'message'],
    additionalProperties: false,
  };
  const properties = propertiesBelow('', VOCABULARY_KEYS);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Oomlint vocabulary',
    description: 'Flags of a team, and what they mean for a training run.',
    type: 'object',
    properties: { ...properties, rules: { ...properties.rules, items: rule } },
    required: ['keys'],
    additionalProperties: false,
  };
}
