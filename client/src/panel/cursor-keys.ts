import { Disposable, type TextEditor, window } from 'vscode';
import type { CausingKey } from '../../../server/src/shared/protocol';
import type { CursorMessage } from '../../webview/messages';
import { keyAtCursor } from './key-at-cursor';

/** Tells which key the cursor is on, when it moves to another one. */
export class CursorKeys implements Disposable {
  #keys: readonly CausingKey[] = [];
  readonly #send: (message: CursorMessage) => void;
  readonly #subscriptions: Disposable;
  #sent: CausingKey | undefined;

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

  /** Reports where the cursor is, to a page that does not know. */
  tell(): void {
    this.#sent = undefined;
    const editor = window.activeTextEditor;
    if (editor) this.#moved(editor);
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #moved(editor: TextEditor): void {
    const key = keyAtCursor(this.#keys, editor.document.uri.toString(), editor.selection.active);
    if (key === this.#sent) return;
    this.#sent = key;
    this.#send({ type: 'cursor', key: key?.key, categories: key?.categories });
  }
}
