import { l10n, Uri, workspace } from 'vscode';
import type { Bundle } from '../../server/src/shared/words';

/**
 * The bundle of the editor's language with the documentation of run fields, which the editor's own mechanism does not
 * load. Undefined where there is no bundle, as in English; the bundle alone where the file cannot be read.
 */
export async function withFieldTexts(extension: Uri, language: string): Promise<Bundle | undefined> {
  const { bundle } = l10n;
  if (bundle === undefined) return undefined;
  const file = Uri.joinPath(extension, 'l10n', `fields.${language.toLowerCase().split('-')[0]}.json`);
  try {
    const texts: unknown = JSON.parse(new TextDecoder().decode(await workspace.fs.readFile(file)));
    return typeof texts === 'object' ? { ...texts, ...bundle } : bundle;
  } catch {
    return bundle;
  }
}
