import { l10n } from 'vscode';
import { isFieldPath, parseFact } from '../../../server/src/shared/fields';

/** Reads what a person typed for a field, by the rules that the server will read it by. */
export function readTypedValue(field: string, typed: string): { value?: unknown; problem?: string } {
  const text = typed.trim();
  if (text === '') {
    return { problem: l10n.t('A value is needed.') };
  }
  if (!isFieldPath(field)) {
    return { problem: l10n.t('Oomlint knows no field {0}.', field) };
  }
  const parsed = parseFact(field, text, { kind: 'directive' });
  return 'error' in parsed ? { problem: parsed.error } : { value: parsed.value.value };
}
