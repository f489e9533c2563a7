import { type Diagnostic, extensions, type Uri, workspace } from 'vscode';
import type { Middleware } from 'vscode-languageclient';

const codeOf = ({ code }: Diagnostic) => (typeof code === 'object' ? code.value : code);

/** Whether the editor itself reports where the text of a file breaks off: it does so of JSON, unless a person switched that off. */
function isCheckedByEditor(uri: Uri): boolean {
  const document = workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());
  return (
    document?.languageId === 'json' &&
    extensions.getExtension('vscode.json-language-features') !== undefined &&
    workspace.getConfiguration('json', uri).get('validate.enable', true)
  );
}

const without = (uri: Uri, found: Diagnostic[]) =>
  isCheckedByEditor(uri) ? found.filter((problem) => codeOf(problem) !== 'syntax') : found;

/** Leaves broken syntax to the editor where it reports that itself, as one place needs no two problems. */
export const SYNTAX_ONCE: Pick<Middleware, 'handleDiagnostics' | 'provideDiagnostics'> = {
  handleDiagnostics: (uri, found, next) => next(uri, without(uri, found)),
  provideDiagnostics: async (document, previous, token, next) => {
    const report = await next(document, previous, token);
    if (report?.kind !== 'full') return report;
    const uri = 'uri' in document ? document.uri : document;
    return { ...report, items: without(uri, report.items) };
  },
};
