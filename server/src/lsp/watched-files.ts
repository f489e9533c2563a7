import { type Disposable, FileChangeType, type FileEvent } from 'vscode-languageserver/node';
import type { Runner } from './runner';
import type { Session } from './session';

/** A checkout touches thousands of files: they are looked at once, together. */
const SETTLE_MS = 100;

/** Changes on disk, gathered. */
export class WatchedFiles implements Disposable {
  readonly #session: Session;
  readonly #runner: Runner;
  readonly #waiting = new Map<string, FileChangeType>();
  #timer: NodeJS.Timeout | undefined;

  constructor(session: Session, runner: Runner) {
    this.#session = session;
    this.#runner = runner;
  }

  changed(events: readonly FileEvent[]): void {
    for (const { uri, type } of events) {
      this.#waiting.set(uri, type);
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
    const events = [...this.#waiting];
    this.#waiting.clear();
    // A file that appears or goes may be what a link, or the search for a project file, did not find before.
    const appeared = events.some(([, type]) => type !== FileChangeType.Changed);
    for (const [uri] of events) {
      await this.#session.touched(uri, true);
    }
    if (appeared) {
      await this.#session.refreshAll();
    }
  }
}
