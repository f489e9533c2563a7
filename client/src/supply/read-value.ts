import { isFieldPath } from '../../../server/src/run/fields';
import { parseFact } from '../../../server/src/run/parse-field';

/** Reads what a person typed for a field, by the rules that the server will read it by. */
export function readValue(field: string, typed: string): { value?: unknown; problem?: string } {
  const text = typed.trim();
  if (text === '') {
    return { problem: 'A value is needed.' };
  }
  if (!isFieldPath(field)) {
    return { problem: `Oomlint knows no field ${field}.` };
  }
  const parsed = parseFact(field, text, { kind: 'directive' });
  return 'error' in parsed ? { problem: parsed.error } : { value: parsed.value.value };
}
