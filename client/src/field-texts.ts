import { type Disposable, env, type LogOutputChannel, l10n } from 'vscode';
import { FIELDS } from '../../server/src/shared/fields';
import { speak } from '../../server/src/shared/words';
import type { LanguageServer } from './language-server';

/**
 * Speaks the editor's language, with the documentation of run fields as soon as the server runs, which has it: the editor's own
 * mechanism loads the bundle alone. English needs neither.
 */
export function speaksOfFields(server: LanguageServer, log: LogOutputChannel): Disposable {
  const { bundle } = l10n;
  speak(env.language, bundle);
  return server.onState(async (state) => {
    if (bundle === undefined || state !== 'running') return;
    try {
      const english = Object.values(FIELDS).map(({ doc }) => doc);
      const texts = await server.texts(english);
      speak(env.language, {
        ...Object.fromEntries(english.map((text, at) => [text, texts[at] ?? text])),
        ...bundle,
      });
    } catch (error) {
      log.warn(`Fields are explained in English: ${error}`);
    }
  });
}
