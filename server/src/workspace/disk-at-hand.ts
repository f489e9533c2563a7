import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { inTime, readFileTextAtOnce } from './bounded-read';
import { DiskHost, diskPath, largest, namesOf } from './disk-host';

/** How long a folder that answered is counted on. Milliseconds. */
const COUNTED_ON = 2000;
/** Answers that take longer come over a network or from a disk that turns: they are better waited for together. Milliseconds. */
const SLOW = 1;
/** So many in a row: one alone was another program's turn. */
const SLOW_IN_A_ROW = 3;
/** For how long nothing is asked at once, then. Milliseconds. */
const TOGETHER = 50;

/**
 * The disk for a command that nobody else waits for: it asks at once. Handing each question to a thread takes several times what
 * a disk of this machine takes to answer, and a tree has thousands. Links, and folders that did not answer, are asked as
 * `DiskHost` does, which gives up in time.
 */
export class DiskAtHand extends DiskHost {
  constructor(
    folders: readonly string[],
    apart?: readonly string[],
    readonly isStill = false,
  ) {
    super(folders, apart);
  }

  /** Folders that were asked something, with when, and whether they answered in time. */
  readonly #asked = new Map<string, { readonly answered: Promise<boolean>; readonly at: number }>();
  #slowInARow = 0;
  #slowUntil = 0;

  override async readText(uri: string): Promise<string | undefined> {
    const file = diskPath(uri);
    // Of weights the header alone is read, which takes a question after another.
    if (file?.endsWith('.safetensors')) return super.readText(uri);
    if (file === undefined || !(await this.#isAtHand(path.dirname(file)))) return super.readText(uri);
    return this.#atOnce(() => {
      const entry = lstatSync(file, { throwIfNoEntry: false });
      if (entry?.isSymbolicLink()) return super.readText(uri);
      const most = largest(file);
      return entry?.isFile() && entry.size <= most ? readFileTextAtOnce(file, most, entry) : undefined;
    });
  }

  override async exists(uri: string): Promise<boolean> {
    const file = diskPath(uri);
    if (file === undefined || !(await this.#isAtHand(path.dirname(file)))) return super.exists(uri);
    const found = await this.#atOnce(() => {
      const entry = lstatSync(file, { throwIfNoEntry: false });
      return entry?.isSymbolicLink() ? super.exists(uri) : entry !== undefined;
    });
    return found === true;
  }

  override list(uri: string): Promise<readonly string[] | undefined> {
    return this.#names(
      uri,
      () => super.list(uri),
      (entry) => !entry.isDirectory(),
    );
  }

  override listFolders(uri: string): Promise<readonly string[] | undefined> {
    return this.#names(
      uri,
      () => super.listFolders(uri),
      (entry) => entry.isDirectory(),
    );
  }

  async #names(
    uri: string,
    patiently: () => Promise<readonly string[] | undefined>,
    wanted: (entry: Dirent) => boolean,
  ): Promise<readonly string[] | undefined> {
    const folder = diskPath(uri);
    if (folder === undefined || performance.now() < this.#slowUntil) return patiently();
    if (await this.#answered(folder))
      return this.#atOnce(() => namesOf(readdirSync(folder, { withFileTypes: true }), wanted));
    const names = patiently();
    this.#ask(folder, names);
    return names;
  }

  /** Whether a folder answers, and its disk does so fast. */
  async #isAtHand(folder: string): Promise<boolean> {
    if (performance.now() < this.#slowUntil) return false;
    return this.#answered(folder) ?? this.#ask(folder, stat(folder));
  }

  /** Whether a folder answered in time when it was asked last; undefined where that is too long ago. */
  #answered(folder: string): Promise<boolean> | undefined {
    const asked = this.#asked.get(folder);
    return asked && performance.now() - asked.at < COUNTED_ON ? asked.answered : undefined;
  }

  /** Whether the answer comes in time. That there is no such folder is one. */
  #ask(folder: string, answer: Promise<unknown>): Promise<boolean> {
    const there = answer.then(
      () => true,
      () => true,
    );
    const answered = inTime(there).then((came) => came === true);
    this.#asked.set(folder, { answered, at: performance.now() });
    return answered;
  }

  /** The answer of the disk; undefined where it has none. */
  #atOnce<T>(question: () => T): T | undefined {
    const started = performance.now();
    try {
      return question();
    } catch {
      return undefined;
    } finally {
      const now = performance.now();
      this.#slowInARow = now - started > SLOW ? this.#slowInARow + 1 : 0;
      if (this.#slowInARow >= SLOW_IN_A_ROW) this.#slowUntil = now + TOGETHER;
    }
  }
}
