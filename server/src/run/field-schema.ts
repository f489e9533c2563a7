import { FIELDS, type FieldPath, type FieldSpec } from './fields';

export type Schema = Readonly<Record<string, unknown>>;

/** JSON Schema of a field's value as people may write it: numbers may be text with a unit or an exponent. */
export function fieldSchema(field: FieldPath): Schema {
  const spec: FieldSpec = FIELDS[field];
  const base = { description: spec.doc, ...(spec.default === undefined ? {} : { default: spec.default }) };
  switch (spec.type) {
    case 'integer': {
      const limits = { minimum: spec.minimum, maximum: spec.maximum };
      return {
        ...base,
        anyOf: [
          { type: 'integer', ...limits },
          { type: 'string', pattern: '^[+]?[0-9][0-9_.]*(e[+]?[0-9]+)?\\s*[A-Za-z]{0,3}$' },
        ],
      };
    }
    case 'number':
      return { ...base, type: ['number', 'string'], minimum: spec.minimum, maximum: spec.maximum };
    case 'flag':
      return { ...base, type: 'boolean' };
    case 'choice':
      return { ...base, enum: spec.values };
    case 'list':
      return { ...base, anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] };
    case 'object':
      return { ...base, type: 'object' };
    case 'text':
      return { ...base, type: ['string', 'number'] };
  }
}
