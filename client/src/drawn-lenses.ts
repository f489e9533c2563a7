import {
  type CodeLens,
  type Command,
  type Disposable,
  EventEmitter,
  type TextDocument,
  type Uri,
  window,
} from 'vscode';
import type { Middleware } from 'vscode-languageclient';
import { signVerdicts } from './verdict-sign';

/**
 * Which text of a file the lenses in an editor are of. The editor asks for them some time after a key, and draws them when it has had them
 * resolved, some time later: until then they have the verdict of an older text. It asks nothing where all are resolved at once, so the
 * last command is kept back until it asks.
 */
export class DrawnLenses implements Disposable {
  readonly #emitter = new EventEmitter<Uri>();
  readonly #keptBack = new WeakMap<CodeLens, Command>();
  /** By file: the text that was asked about last, the one that is drawn, and the lines of its lenses. */
  readonly #known = new Map<
    string,
    { readonly asked: number; readonly drawn: number; readonly lines: readonly number[] }
  >();

  /** Lenses of a file were drawn. */
  readonly onDrawn = this.#emitter.event;

  readonly middleware: Pick<Middleware, 'provideCodeLenses' | 'resolveCodeLens'> = {
    provideCodeLenses: async (document, token, next) => {
      const { version } = document;
      const lenses = await next(document, token);
      if (lenses) signVerdicts(lenses);
      if (lenses && !token.isCancellationRequested) this.#asked(document, version, lenses);
      return lenses;
    },
    resolveCodeLens: async (lens, token, next) => {
      const kept = this.#keptBack.get(lens);
      if (kept) lens.command = kept;
      const resolved = kept ? lens : await next(lens, token);
      // Behind the answer, on the way that it goes.
      if (!token.isCancellationRequested) setTimeout(() => this.#drawn());
      return resolved;
    },
  };

  /** Whether the editor in front shows lenses of an older text than this version of a file. */
  areOlder(file: Uri, version: number): boolean {
    const known = this.#known.get(file.toString());
    const editor = window.activeTextEditor;
    if (!known || known.lines.length === 0 || editor?.document.uri.toString() !== file.toString())
      return false;
    const isInView = editor.visibleRanges.some(({ start, end }) =>
      known.lines.some((line) => line >= start.line && line <= end.line),
    );
    return isInView && known.drawn < version;
  }

  /** Lenses of a file are not drawn, whatever the editor asked: they may have been switched off meanwhile. */
  forget(file: Uri): void {
    this.#known.delete(file.toString());
  }

  dispose(): void {
    this.#emitter.dispose();
  }

  #asked({ uri }: TextDocument, version: number, lenses: readonly CodeLens[]): void {
    const key = uri.toString();
    const last = lenses.at(-1);
    if (last?.command && lenses.every(({ command }) => command !== undefined)) {
      this.#keptBack.set(last, last.command);
      last.command = undefined;
    }
    const lines = lenses.map(({ range }) => range.start.line);
    this.#known.set(key, { asked: version, drawn: this.#known.get(key)?.drawn ?? 0, lines });
  }

  /** The editor resolves the lenses of the file in front. */
  #drawn(): void {
    const file = window.activeTextEditor?.document.uri;
    const known = file && this.#known.get(file.toString());
    if (!file || !known) return;
    this.#known.set(file.toString(), { ...known, drawn: known.asked });
    this.#emitter.fire(file);
  }
}
