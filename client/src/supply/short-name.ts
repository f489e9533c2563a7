import { isFieldPath, shortAlias } from '../../../server/src/shared/fields';

/** The spelling that people use: `gpu` reads better than `hardware.gpu`. */
export function shortName(field: string): string {
  return isFieldPath(field) ? shortAlias(field) : field;
}
