import type { Disposable, FileEvent } from 'vscode-languageserver';
import type { Runner } from './runner';
import type { Session } from './session';

/** A checkout touches thousands of files: they are looked at once, together. */
const SETTLE_MS = 100;

/** Changes on disk, gathered. */
export class WatchedFiles implements Disposable {
  readonly #session: Session;
  readonly #runner: Runner;
  readonly #waiting = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(session: Session, runner: Runner) {
    this.#session = session;
    this.#runner = runner;
  }

  changed(events: readonly FileEvent[]): void {
    for (const { uri } of events) {
      this.#waiting.add(uri);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#runner.background('Following files', () => this.#flush()),
      SETTLE_MS,
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }

  async #flush(): Promise<void> {
    const uris = [...this.#waiting];
    this.#waiting.clear();
    // Analyses depend on files that they looked for in vain, too: appearing and going need no path of their own.
    await this.#session.touched(uris, true);
  }
}
