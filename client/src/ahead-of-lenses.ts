import { type Disposable, Uri } from 'vscode';
import type { StatusParams } from '../../server/src/shared/protocol';
import type { LanguageServer } from './language-server';

/** Lenses that are not drawn anew by then are not shown at all. */
const LIMIT_MS = 1_500;

interface Ahead {
  /** What the lenses read as they are drawn. */
  readonly drawn: string | undefined;
  /** Of the text that the status is of. */
  readonly version: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Files whose status has a newer verdict than the lenses above their texts: the editor waits most of a second after a key before it draws
 * those, and the status shows meanwhile that it is the one that goes ahead.
 */
export class AheadOfLenses implements Disposable {
  readonly #ahead = new Map<string, Ahead>();
  readonly #server: LanguageServer;
  readonly #caughtUp: () => void;
  readonly #following: Disposable;

  /** `caughtUp` is called when the lenses of a file have what its status has. */
  constructor(server: LanguageServer, caughtUp: () => void) {
    this.#server = server;
    this.#caughtUp = caughtUp;
    this.#following = server.lenses.onDrawn((file) => {
      const ahead = this.#ahead.get(file.toString());
      if (ahead && !server.lenses.areOlder(file, ahead.version)) this.#end(file.toString());
    });
  }

  has(file: Uri): boolean {
    return this.#ahead.has(file.toString());
  }

  /** The status of a file took the place of another. */
  follow(next: StatusParams, before: StatusParams | undefined): void {
    const { uri, version } = next;
    const ahead = this.#ahead.get(uri);
    const drawn = ahead ? ahead.drawn : verdictOf(before);
    this.#drop(uri);
    const file = Uri.parse(uri);
    if (drawn === undefined || drawn === verdictOf(next) || !this.#server.lenses.areOlder(file, version))
      return;
    const timer = setTimeout(() => {
      this.#server.lenses.forget(file);
      this.#end(uri);
    }, LIMIT_MS);
    this.#ahead.set(uri, { drawn, version, timer });
  }

  dispose(): void {
    this.#following.dispose();
    for (const uri of [...this.#ahead.keys()]) this.#drop(uri);
  }

  #end(uri: string): void {
    this.#drop(uri);
    this.#caughtUp();
  }

  #drop(uri: string): void {
    clearTimeout(this.#ahead.get(uri)?.timer);
    this.#ahead.delete(uri);
  }
}

const verdictOf = (announced: StatusParams | undefined) =>
  announced?.status && `${announced.status.outcome} ${announced.status.text}`;
