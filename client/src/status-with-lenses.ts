import { Disposable, Uri } from 'vscode';
import type { StatusParams } from '../../server/src/shared/protocol';
import type { LanguageServer } from './language-server';

/** Lenses that are not drawn anew by then are not shown at all: the verdict waits for them no longer. */
const LIMIT_MS = 1_500;

/** What the server announces of files, with the lenses that stand above their texts: those have the verdict, too, and both change together. */
export class StatusWithLenses implements Disposable {
  readonly #waiting = new Map<string, { readonly status: StatusParams; readonly timer: NodeJS.Timeout }>();
  readonly #server: LanguageServer;
  readonly #following: Disposable;

  /** `taken` gets each status when it is time; `shown` is what a file has so far; `held` is called when one begins to wait. */
  constructor(
    server: LanguageServer,
    taken: (status: StatusParams) => void,
    { shown, held }: { shown: (file: string) => StatusParams | undefined; held: () => void },
  ) {
    this.#server = server;
    const take = (status: StatusParams) => {
      this.#drop(status.uri);
      taken(status);
    };
    this.#following = Disposable.from(
      server.onStatus((status) => {
        this.#drop(status.uri);
        const file = Uri.parse(status.uri);
        if (!shown(status.uri)?.status || !server.lenses.areOlder(file, status.version)) {
          taken(status);
          return;
        }
        const timer = setTimeout(() => {
          server.lenses.forget(file);
          take(status);
        }, LIMIT_MS);
        this.#waiting.set(status.uri, { status, timer });
        held();
      }),
      server.lenses.onDrawn((file) => {
        const next = this.#waiting.get(file.toString());
        if (next && !this.#server.lenses.areOlder(file, next.status.version)) take(next.status);
      }),
    );
  }

  /** Whether the answer for a file is there, and waits. */
  has(file: Uri | undefined): boolean {
    return file !== undefined && this.#waiting.has(file.toString());
  }

  dispose(): void {
    this.#following.dispose();
    for (const uri of [...this.#waiting.keys()]) this.#drop(uri);
  }

  #drop(uri: string): void {
    clearTimeout(this.#waiting.get(uri)?.timer);
    this.#waiting.delete(uri);
  }
}
