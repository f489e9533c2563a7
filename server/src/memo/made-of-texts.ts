/** What was made of a text, which holds until there is another one. */
interface Made<T> {
  readonly text: string;
  readonly made: T;
}

/** As many at most, however small: what is made of a text of one line takes kilobytes all the same. */
const MOST_TEXTS = 1024;

/**
 * What was made of texts, by key: the latest, of which the texts have at most `most` characters together. What is made of a text grows with it, so
 * a few large ones or many small ones are kept. One alone may be larger.
 */
export class MadeOfTexts<T> {
  readonly #kept = new Map<string, Made<T>>();
  readonly #most: number;
  #characters = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** What is kept of a text, if it holds; else what is made now, where that is anything. */
  of<M extends T | undefined>(
    key: string,
    text: string,
    make: () => M,
    holds: (made: T) => boolean = () => true,
  ): T | M {
    const known = this.#kept.get(key);
    if (known) this.delete(key);
    const made = known?.text === text && holds(known.made) ? known.made : make();
    if (made !== undefined) this.#keep(key, { text, made });
    return made;
  }

  #keep(key: string, made: Made<T>): void {
    this.#kept.set(key, made);
    this.#characters += made.text.length;
    for (const oldest of this.#kept.keys()) {
      const fits = this.#characters <= this.#most && this.#kept.size <= MOST_TEXTS;
      if (fits || oldest === key) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#characters -= this.#kept.get(key)?.text.length ?? 0;
    this.#kept.delete(key);
  }

  clear(): void {
    this.#kept.clear();
    this.#characters = 0;
  }
}
