import assert from 'node:assert/strict';
import {
  type CodeLens,
  commands,
  type Diagnostic,
  extensions,
  type Hover,
  languages,
  MarkdownString,
  Range,
  type TextDocument,
  Uri,
  WorkspaceEdit,
  window,
  workspace,
} from 'vscode';

const PATIENCE_MS = 20_000;

export const EXTENSION = 'oomlint.oomlint';

export function extension() {
  const found = extensions.getExtension(EXTENSION);
  assert.ok(found, `${EXTENSION} is not installed`);
  return found;
}

export function file(name: string): Uri {
  const folder = workspace.workspaceFolders?.[0];
  assert.ok(folder, 'no folder is open');
  return Uri.joinPath(folder.uri, name);
}

export async function open(name: string): Promise<TextDocument> {
  const document = await workspace.openTextDocument(file(name));
  await window.showTextDocument(document, { preview: false });
  return document;
}

/** Asks until the answer is good: providers come and go with the server, and no event tells. */
export async function eventually<T>(ask: () => PromiseLike<T>, isGood: (answer: T) => boolean): Promise<T> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (isGood(answer) || Date.now() > until) {
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export async function hoverText(document: TextDocument, needle: string): Promise<string> {
  const at = document.getText().indexOf(needle);
  assert.ok(at >= 0, `${needle} does not occur`);
  const hovers = await commands.executeCommand<Hover[]>(
    'vscode.executeHoverProvider',
    document.uri,
    document.positionAt(at + 1),
  );
  return hovers
    .flatMap(({ contents }) => contents)
    .map((content) => (content instanceof MarkdownString ? content.value : JSON.stringify(content)))
    .join('\n')
    .replaceAll('\u00a0', ' ');
}

export async function lensTitles(document: TextDocument): Promise<string[]> {
  const lenses = await commands.executeCommand<CodeLens[]>(
    'vscode.executeCodeLensProvider',
    document.uri,
    20,
  );
  return lenses.flatMap(({ command }) => (command ? [command.title] : []));
}

export function ours(uri: Uri): Diagnostic[] {
  return languages.getDiagnostics(uri).filter(({ source }) => source?.toLowerCase() === 'oomlint');
}

export function codes(uri: Uri): string[] {
  return ours(uri).map(({ code }) => String(typeof code === 'object' ? code.value : code));
}

/** Waits for the event that brings the wanted diagnostics. */
export async function untilCodes(uri: Uri, isGood: (codes: readonly string[]) => boolean): Promise<string[]> {
  if (!isGood(codes(uri))) {
    await new Promise<void>((resolve) => {
      const late = setTimeout(done, PATIENCE_MS);
      const listener = languages.onDidChangeDiagnostics(() => {
        if (isGood(codes(uri))) {
          done();
        }
      });
      function done(): void {
        clearTimeout(late);
        listener.dispose();
        resolve();
      }
    });
  }
  return codes(uri);
}

export async function replace(document: TextDocument, from: string, to: string): Promise<void> {
  const at = document.getText().indexOf(from);
  assert.ok(at >= 0, `${from} does not occur`);
  const edit = new WorkspaceEdit();
  edit.replace(document.uri, new Range(document.positionAt(at), document.positionAt(at + from.length)), to);
  assert.ok(await workspace.applyEdit(edit));
}
