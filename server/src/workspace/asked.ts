import { fileName, foldersUpward, parentUri } from '../text/uri';

/** Asks again, and states whether the answer is the one that was given. */
type Check = () => Promise<boolean>;

/** A question about whole files whose answer states little: which of them took part, and whether the answer still holds. */
interface Gist {
  asked: Asked;
  readonly check: () => Promise<{ readonly same: boolean; readonly asked: Asked }>;
}

/**
 * What one analysis asked of the files, with the answers that it got: after a change it is stale only where an answer became
 * another one. A question that was answered "there is none" counts as any other.
 */
export class Asked {
  /** Canonical URIs of files asked about, those of listed folders with a slash behind them. */
  readonly keys = new Set<string>();
  readonly #checks = new Map<string, Map<Promise<unknown>, Check>>();
  readonly #gists: Gist[] = [];
  /** Names of the folders in a folder; undefined until they are known. */
  readonly #folders = new Map<string, ReadonlySet<string> | undefined>();
  /** What was found not to be there: a file that comes may make a folder of that name. */
  readonly #absent = new Set<string>();
  /** The answers decide nothing by themselves, and none is held: they may be all the files of a folder. */
  readonly #keysAlone: boolean;

  constructor(keysAlone = false) {
    this.#keysAlone = keysAlone;
  }

  /** Asks about the file with this key, of `keys`' spelling. `same` compares two answers. */
  ask<T>(key: string, question: () => Promise<T>, same: (a: T, b: T) => boolean = Object.is): Promise<T> {
    this.keys.add(key);
    const answer = question();
    if (this.#keysAlone) return answer;
    const checks = this.#checks.get(key) ?? new Map<Promise<unknown>, Check>();
    this.#checks.set(key, checks);
    // The files' answers are remembered for a while, so one answer is mostly one promise.
    if (!checks.has(answer)) checks.set(answer, async () => same(await question(), await answer));
    return answer;
  }

  /** Asks for the folders in a folder, the key of which is `folder`: a file that comes may lie in a new one, however deep. */
  folders(
    folder: string,
    question: () => Promise<readonly string[] | undefined>,
  ): Promise<readonly string[] | undefined> {
    if (!this.#folders.has(folder)) this.#folders.set(folder, undefined);
    const answer = this.ask(listKey(folder), question, sameItems);
    answer.then(
      (names) => this.#folders.set(folder, new Set(names)),
      () => undefined,
    );
    return answer;
  }

  /** Asks whether there is a file or folder. */
  exists(key: string, question: () => Promise<boolean>): Promise<boolean> {
    const answer = this.ask(key, question);
    answer.then(
      (isThere) => (isThere ? this.#absent.delete(key) : this.#absent.add(key)),
      () => undefined,
    );
    return answer;
  }

  /** Asks something that takes whole files to answer, but whose answer alone counts: the files may say anything else. */
  async gist<T extends string | boolean | undefined>(question: (asked: Asked) => Promise<T>): Promise<T> {
    const asked = new Asked(true);
    const answer = question(asked);
    this.#gists.push({
      asked,
      check: async () => {
        const again = new Asked(true);
        const [now, then] = await Promise.all([question(again), answer]);
        return { same: now === then, asked: again };
      },
    });
    return answer;
  }

  /** Whether a change of a file, or its coming and going, can change an answer. */
  concerns(key: string): boolean {
    return (
      this.#about(key).some((about) => this.keys.has(about)) ||
      this.#gists.some(({ asked }) => asked.concerns(key))
    );
  }

  /** Whether every answer that a change of these files could change is still the same. Answers that fail are not. */
  async holds(changed: readonly string[]): Promise<boolean> {
    const about = [...new Set(changed.flatMap((key) => this.#about(key)))];
    try {
      for (const check of about.flatMap((key) => [...(this.#checks.get(key)?.values() ?? [])])) {
        if (!(await check())) return false;
      }
      for (const gist of this.#gists.filter((one) => changed.some((key) => one.asked.concerns(key)))) {
        const { same, asked } = await gist.check();
        if (!same) return false;
        gist.asked = asked;
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Keys of the questions that a change of a file bears on: about it, about what its folder holds, and whether its folder is there. */
  #about(key: string): string[] {
    const folder = parentUri(key);
    return folder === undefined ? [key] : [key, listKey(folder), ...this.#madeBy(key)];
  }

  /** Keys of the questions about folders that there was none of above a file. */
  #madeBy(key: string): string[] {
    const found: string[] = [];
    let below: string | undefined;
    for (const folder of foldersUpward(key)) {
      if (this.#absent.has(folder)) found.push(folder);
      if (
        below !== undefined &&
        this.#folders.has(folder) &&
        !this.#folders.get(folder)?.has(fileName(below))
      )
        found.push(listKey(folder));
      below = folder;
    }
    return found;
  }
}

/** Under which a listed folder is kept, apart from a question about the folder itself. */
export function listKey(folder: string): string {
  return `${folder}/`;
}

export function sameItems<T>(a: readonly T[] = [], b: readonly T[] = []): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
