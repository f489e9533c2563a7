import type { Disposable } from 'vscode-languageserver';
import { canonicalUri } from '../text/uri';
import type { Runner } from './runner';

/** One analysis looks into several folders: they are asked for together. */
const SETTLE_MS = 100;
/** Each is a watch of the system's: a run that looks into more than this above its folder is none that a person follows. */
const MOST = 64;

/** Folders above those that are open, which runs were looked for in: editors watch nothing there by themselves. */
export class FoldersAbove implements Disposable {
  readonly #runner: Runner;
  readonly #watch: (folders: readonly string[]) => Promise<void>;
  readonly #seen = new Set<string>();
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(runner: Runner, watch: (folders: readonly string[]) => Promise<void>) {
    this.#runner = runner;
    this.#watch = watch;
  }

  lookedInto(folder: string): void {
    const known = canonicalUri(folder);
    if (this.#seen.has(known) || this.#seen.size >= MOST) return;
    this.#seen.add(known);
    this.#waiting.push(folder);
    this.#timer ??= setTimeout(() => this.#flush(), SETTLE_MS);
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    const folders = this.#waiting;
    this.#waiting = [];
    this.#timer = undefined;
    this.#runner.background('Watching folders', () => this.#watch(folders));
  }
}
