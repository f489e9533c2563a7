import { fieldSchema, type Schema } from '../run/field-schema';
import { FIELD_PATHS, FIELDS, type FieldSpec } from '../run/fields';
import { sectionText } from './project-keys';
import { RULES } from './rules';

/** Every field under its path and its aliases. */
function factProperties(): Record<string, Schema> {
  const properties: Record<string, Schema> = {};
  for (const field of FIELD_PATHS) {
    const spec: FieldSpec = FIELDS[field];
    for (const name of [field, ...(spec.aliases ?? [])]) {
      properties[name] ??= { $ref: `#/$defs/${field}` };
    }
  }
  return properties;
}

/** Levels by the names of rules; a vocabulary may teach more. */
function rulesSchema(): Schema {
  const level = { enum: ['off', 'hint', 'information', 'warning', 'error', false] };
  const rules = Object.entries(RULES).map(([name, { summary }]) => [
    name,
    { ...level, description: summary },
  ]);
  return {
    description: sectionText('rules'),
    type: 'object',
    properties: Object.fromEntries(rules),
    additionalProperties: level,
  };
}

/** JSON Schema of `oomlint.yaml`, for editors that complete from schemas. */
export function projectFileSchema(): Schema {
  const facts = { $ref: '#/$defs/facts' };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Oomlint project file',
    description: 'Facts about training runs that the configs below this folder do not state themselves.',
    type: 'object',
    properties: {
      targets: { ...facts, description: sectionText('targets') },
      defaults: { ...facts, description: sectionText('defaults') },
      measured: {
        description: sectionText('measured'),
        type: 'array',
        items: {
          allOf: [facts],
          type: 'object',
          required: ['source', 'match'],
          properties: {
            source: { description: sectionText('measured.source'), type: 'string' },
            match: { $ref: '#/properties/files/items/properties/match' },
            when: { ...facts, description: sectionText('measured.when') },
            keys: {
              description: sectionText('measured.keys'),
              type: 'object',
            },
          },
        },
      },
      vocabularies: {
        description: sectionText('vocabularies'),
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      },
      rules: rulesSchema(),
      files: {
        description: sectionText('files'),
        type: 'array',
        items: {
          allOf: [facts],
          type: 'object',
          required: ['match'],
          properties: {
            match: {
              description: sectionText('files.match'),
              anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }],
            },
            rules: { $ref: '#/properties/rules' },
          },
        },
      },
    },
    allOf: [facts],
    $defs: {
      facts: { type: 'object', properties: factProperties() },
      ...Object.fromEntries(FIELD_PATHS.map((field) => [field, fieldSchema(field)])),
    },
  };
}
