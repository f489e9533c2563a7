import { fieldSchema, type Schema } from '../run/field-schema';
import { FIELD_PATHS, FIELDS, type FieldSpec } from '../run/fields';
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
    description: 'How bad the problems of a rule are, or off.',
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
      targets: { ...facts, description: 'Hardware that the runs go to.' },
      defaults: { ...facts, description: 'Facts for every config below this folder.' },
      measured: {
        description:
          'What runs measured, for runs that are still like them: written by `oomlint measured RUN --learn`.',
        type: 'array',
        items: {
          allOf: [facts],
          type: 'object',
          required: ['source', 'match'],
          properties: {
            source: { description: 'Log or folder of the run.', type: 'string' },
            match: { $ref: '#/properties/files/items/properties/match' },
            when: { ...facts, description: 'What the run was: with other values its facts do not count.' },
            keys: {
              description:
                'Keys at the top of the config, such as the data set, with the values that they had.',
              type: 'object',
            },
          },
        },
      },
      vocabularies: {
        description: 'Files that teach Oomlint the flags of a team, relative to this one.',
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      },
      rules: rulesSchema(),
      files: {
        description: 'Facts for some configs; later entries win over earlier ones.',
        type: 'array',
        items: {
          allOf: [facts],
          type: 'object',
          required: ['match'],
          properties: {
            match: {
              description: 'Patterns as in .gitignore, relative to this folder.',
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
