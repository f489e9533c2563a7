import { parentUri } from '../text/uri';

/** Asks again, and states whether the answer is the one that was given. */
type Check = () => Promise<boolean>;

/** A question about whole files whose answer states little: which of them took part, and whether the answer still holds. */
interface Gist {
  keys: ReadonlySet<string>;
  readonly check: () => Promise<{ readonly same: boolean; readonly keys: ReadonlySet<string> }>;
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

  /** Asks about the file with this key, of `keys`' spelling. `same` compares two answers. */
  ask<T>(key: string, question: () => Promise<T>, same: (a: T, b: T) => boolean = Object.is): Promise<T> {
    this.keys.add(key);
    const answer = question();
    const checks = this.#checks.get(key) ?? new Map<Promise<unknown>, Check>();
    this.#checks.set(key, checks);
    // The files' answers are remembered for a while, so one answer is mostly one promise.
    if (!checks.has(answer)) checks.set(answer, async () => same(await question(), await answer));
    return answer;
  }

  /** Asks something that takes whole files to answer, but whose answer alone counts: the files may say anything else. */
  async gist<T extends string | boolean | undefined>(question: (asked: Asked) => Promise<T>): Promise<T> {
    const asked = new Asked();
    const answer = question(asked);
    this.#gists.push({
      keys: asked.keys,
      check: async () => {
        const again = new Asked();
        const [now, then] = await Promise.all([question(again), answer]);
        return { same: now === then, keys: again.keys };
      },
    });
    return answer;
  }

  /** Whether a change of a file, or its coming and going, can change an answer. */
  concerns(key: string): boolean {
    const about = keysOf(key);
    return isAmong(this.keys, about) || this.#gists.some(({ keys }) => isAmong(keys, about));
  }

  /** Whether every answer that a change of these files could change is still the same. Answers that fail are not. */
  async holds(changed: readonly string[]): Promise<boolean> {
    const about = [...new Set(changed.flatMap(keysOf))];
    try {
      for (const check of about.flatMap((key) => [...(this.#checks.get(key)?.values() ?? [])])) {
        if (!(await check())) return false;
      }
      for (const gist of this.#gists.filter(({ keys }) => isAmong(keys, about))) {
        const { same, keys } = await gist.check();
        if (!same) return false;
        gist.keys = keys;
      }
      return true;
    } catch {
      return false;
    }
  }
}

/** Under which a listed folder is kept, apart from a question about the folder itself. */
export function listKey(folder: string): string {
  return `${folder}/`;
}

/** Keys of the questions that a change of a file bears on: about it, and about what its folder holds. */
function keysOf(key: string): string[] {
  const folder = parentUri(key);
  return folder === undefined ? [key] : [key, listKey(folder)];
}

function isAmong(keys: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return wanted.some((key) => keys.has(key));
}
