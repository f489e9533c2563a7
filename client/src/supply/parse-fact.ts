import type { FieldSpec } from '../../../server/src/run/fields';

export interface ParsedFact {
  readonly value?: string | number | boolean;
  /** For people, where the text is no value of the field. */
  readonly problem?: string;
}

/** Reads what a person typed for a field, as the field's type asks. */
export function parseFact(spec: FieldSpec, typed: string): ParsedFact {
  const text = typed.trim();
  if (text === '') {
    return { problem: 'A value is needed.' };
  }
  switch (spec.type) {
    case 'integer':
    case 'number': {
      const number = Number(text.replace(/[_\s]/g, ''));
      if (!Number.isFinite(number) || (spec.type === 'integer' && !Number.isSafeInteger(number))) {
        return { problem: spec.type === 'integer' ? 'A whole number is needed.' : 'A number is needed.' };
      }
      return spec.minimum !== undefined && number < spec.minimum
        ? { problem: `At least ${spec.minimum}.` }
        : { value: number };
    }
    case 'flag':
      return /^(true|false)$/i.test(text)
        ? { value: text.toLowerCase() === 'true' }
        : { problem: 'true or false.' };
    case 'choice':
      return spec.values.includes(text) ? { value: text } : { problem: `One of ${spec.values.join(', ')}.` };
    default:
      return /[\r\n]/.test(text) ? { problem: 'One line only.' } : { value: text };
  }
}
