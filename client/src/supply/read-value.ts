import { l10n } from 'vscode';
import { FIELDS, isFieldPath, parseFact } from '../../../server/src/shared/fields';
import { plainNumber } from '../../../server/src/shared/words';

/** What a person typed for a field: its value and the text for a file, or what is wrong with it. */
type ReadValue =
  | { readonly value: unknown; readonly text: string; readonly problem?: undefined }
  | { readonly value?: undefined; readonly text?: undefined; readonly problem: string };

/** Reads what a person typed for a field, by the rules that the server will read it by; numbers as people write them, too. */
export function readTypedValue(field: string, typed: string): ReadValue {
  const text = typed.trim();
  if (text === '') {
    return { problem: l10n.t('A value is needed.') };
  }
  if (!isFieldPath(field)) {
    return { problem: l10n.t('Oomlint knows no field {0}.', field) };
  }
  const { type } = FIELDS[field];
  const plain = type === 'integer' || type === 'number' ? plainNumber(text, type === 'integer') : text;
  const parsed = parseFact(field, plain, { kind: 'directive' });
  if (!('error' in parsed)) return { value: parsed.value.value, text: plain };
  // What is wrong is named as it was typed.
  const asTyped = parseFact(field, text, { kind: 'directive' });
  return { problem: 'error' in asTyped ? asTyped.error : parsed.error };
}
