import {
  type CancellationToken,
  Disposable,
  type ExtensionContext,
  LanguageModelTextPart,
  LanguageModelToolResult,
  l10n,
  lm,
  MarkdownString,
  type PreparedToolInvocation,
} from 'vscode';
import type { LanguageServer } from './language-server';

/** In front of the names that the engine has for its tools. */
const PREFIX = 'oomlint_';
/** The one that writes. */
const WRITES = 'apply_change';

interface Contributed {
  readonly name: string;
  readonly displayName: string;
}

/** Tools for the chat of the editor, as the manifest lists them. Editors without such a chat have no place for them. */
export function languageModelTools(context: ExtensionContext, server: LanguageServer): Disposable {
  if (typeof lm?.registerTool !== 'function') return new Disposable(() => undefined);
  const { contributes } = context.extension.packageJSON as {
    readonly contributes: { readonly languageModelTools: readonly Contributed[] };
  };
  return Disposable.from(
    ...contributes.languageModelTools.map(({ name: full, displayName }) => {
      const name = full.slice(PREFIX.length);
      return lm.registerTool<object>(full, {
        invoke: async ({ input }, token) => {
          const { isError, text, data } = await server.tool({ name, input }, token);
          if (isError) throw new Error(text);
          const parts = [text, JSON.stringify(data)].map((part) => new LanguageModelTextPart(part));
          return new LanguageModelToolResult(parts);
        },
        prepareInvocation: async ({ input }, token) =>
          name === WRITES ? confirmation(input, server, token) : { invocationMessage: displayName },
      });
    }),
  );
}

/** What the person is asked before something is written: the change, line by line. */
async function confirmation(
  input: object,
  server: LanguageServer,
  token: CancellationToken,
): Promise<PreparedToolInvocation> {
  const { isError, text, data } = await server.tool({ name: WRITES, input, describe: true }, token);
  const message = new MarkdownString();
  if (isError) message.appendText(text);
  else message.appendText(String(data?.title ?? '')).appendCodeblock(text, 'diff');
  return {
    invocationMessage: l10n.t('Changing the config'),
    confirmationMessages: { title: l10n.t('Change the config?'), message },
  };
}
