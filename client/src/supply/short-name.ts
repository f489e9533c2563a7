import { isFieldPath } from '../../../server/src/run/fields';
import { fieldLabel } from '../../../server/src/run/parse-field';

/** The spelling that people use: `gpu` reads better than `hardware.gpu`. */
export function shortName(field: string): string {
  return isFieldPath(field) ? fieldLabel(field) : field;
}
