import { l10n } from 'vscode';
import { isFieldPath } from '../../../server/src/run/fields';
import { parseFact } from '../../../server/src/run/parse-field';

/** Reads what a person typed for a field, by the rules that the server will read it by. */
export function readValue(field: string, typed: string): { value?: unknown; problem?: string } {
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
