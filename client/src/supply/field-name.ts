import { FIELDS, type FieldSpec, isFieldPath } from '../../../server/src/run/fields';

/** The short spelling of a field where it has one: `gpu` reads better than `hardware.gpu`. */
export function fieldName(field: string): string {
  if (!isFieldPath(field)) {
    return field;
  }
  const spec: FieldSpec = FIELDS[field];
  return spec.aliases?.[0] ?? field;
}
