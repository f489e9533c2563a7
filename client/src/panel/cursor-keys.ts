import { Disposable, type TextEditor, window } from 'vscode';
import type { CausingKey } from '../../../server/src/features/protocol';
import type { CursorMessage } from '../../webview/messages';

/** Tells which key the cursor is on, when it moves to another one. */
export class CursorKeys implements Disposable {
  #keys: readonly CausingKey[] = [];
  readonly #send: (message: CursorMessage) => void;
  readonly #subscriptions: Disposable;
  #told: CausingKey | undefined;

  constructor(send: (message: CursorMessage) => void) {
    this.#send = send;
    this.#subscriptions = Disposable.from(
      window.onDidChangeTextEditorSelection(({ textEditor }) => this.#moved(textEditor)),
      window.onDidChangeActiveTextEditor((editor) => editor && this.#moved(editor)),
    );
  }

  /** Keys of the run that is shown. */
  set keys(keys: readonly CausingKey[]) {
    this.#keys = keys;
  }

  /** Says where the cursor is, to a page that does not know. */
  tell(): void {
    this.#told = undefined;
    const editor = window.activeTextEditor;
    if (editor) this.#moved(editor);
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #moved(editor: TextEditor): void {
    const key = keyAt(this.#keys, editor.document.uri.toString(), editor.selection.active);
    if (key === this.#told) return;
    this.#told = key;
    this.#send({ type: 'cursor', key: key?.key, categories: key?.categories });
  }
}

/** The key whose value the position is on; on its line where no other key's value stands nearer. */
export function keyAt(
  keys: readonly CausingKey[],
  uri: string,
  { line, character }: { readonly line: number; readonly character: number },
): CausingKey | undefined {
  const here = keys.filter(
    ({ uri: of, range }) => of === uri && range.start.line <= line && line <= range.end.line,
  );
  // The key's name stands before its value: of several on a line it is the first that ends behind the cursor.
  return here
    .filter(({ range }) => range.end.line > line || range.end.character >= character)
    .sort((a, b) => a.range.end.line - b.range.end.line || a.range.end.character - b.range.end.character)
    .concat(here)[0];
}
