import {
  type Diagnostic,
  DiagnosticSeverity,
  Disposable,
  extensions,
  languages,
  type TextDocument,
  type Uri,
  workspace,
} from 'vscode';
import type { Middleware } from 'vscode-languageclient';
import { givesWay } from './left-to-others';

const SOURCE = 'oomlint';
const codeOf = ({ code }: Diagnostic) => (typeof code === 'object' ? code.value : code);
const isTwice = (problem: Diagnostic) => givesWay(codeOf(problem));
const isSyntax = (problem: Diagnostic) => codeOf(problem) === 'syntax';

const openText = (uri: Uri): TextDocument | undefined =>
  workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());

/** Whether the editor itself reports where the text of a file breaks off: it does so of JSON, unless a person switched that off. */
const isCheckedByEditor = (uri: Uri): boolean =>
  openText(uri)?.languageId === 'json' &&
  extensions.getExtension('vscode.json-language-features') !== undefined &&
  workspace.getConfiguration('json', uri).get('validate.enable', true);

/** Lines of which others report errors, in order: of YAML an extension may, or may not. */
function linesOfOthers(uri: Uri): readonly number[] {
  const found = languages
    .getDiagnostics(uri)
    .filter(({ source, severity }) => source !== SOURCE && severity === DiagnosticSeverity.Error)
    .map(({ range }) => range.start.line);
  return [...new Set(found)].sort((a, b) => a - b);
}

/**
 * Leaves broken syntax to whoever reports that beside us, as one place needs no two problems: the editor of JSON, an extension of YAML where
 * it has an error on the same line, which may come before ours or after; that reports keys that stand twice, too.
 */
export class SyntaxOnce implements Disposable {
  /** Files with problems that others may have, too: the lines that others reported when it was last looked at, and how to look anew. */
  readonly #broken = new Map<string, { readonly lines: string; readonly again: () => void }>();
  readonly #following = Disposable.from(
    languages.onDidChangeDiagnostics(({ uris }) => {
      for (const uri of uris) {
        const known = this.#broken.get(uri.toString());
        if (known && known.lines !== linesOfOthers(uri).join()) known.again();
      }
    }),
    workspace.onDidCloseTextDocument(({ uri }) => this.#broken.delete(uri.toString())),
  );

  readonly middleware: Pick<Middleware, 'handleDiagnostics'> = {
    handleDiagnostics: (uri, found, next) => {
      const show = () => next(uri, this.#without(uri, found, show));
      show();
    },
  };

  /** What was shown is gone with the server that found it. */
  forget(): void {
    this.#broken.clear();
  }

  dispose(): void {
    this.#following.dispose();
  }

  #without(uri: Uri, found: Diagnostic[], again: () => void): Diagnostic[] {
    this.#broken.delete(uri.toString());
    if (isCheckedByEditor(uri)) return found.filter((problem) => !isSyntax(problem));
    if (openText(uri)?.languageId !== 'yaml' || !found.some(isTwice)) return found;
    const others = linesOfOthers(uri);
    this.#broken.set(uri.toString(), { lines: others.join(), again });
    return found.filter((problem) => !isTwice(problem) || !others.includes(problem.range.start.line));
  }
}
