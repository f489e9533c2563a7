/** Answers by key, of which the latest are kept. */
export interface Remembered<T> {
  /** The answer of a key: the one that is kept, else the one that is made now. */
  of(key: string, make: () => T): T;
}

/** Keeps the `limit` answers that were asked for last. */
export function remembered<T>(limit: number): Remembered<T> {
  const kept = new Map<string, T>();
  return {
    of(key, make) {
      const known = kept.has(key);
      const answer = known ? (kept.get(key) as T) : make();
      // A map keeps the order of its insertions: the latest are last.
      if (known && limit < Number.POSITIVE_INFINITY) kept.delete(key);
      if (!known || limit < Number.POSITIVE_INFINITY) kept.set(key, answer);
      if (kept.size > limit) {
        const [oldest] = kept.keys();
        if (oldest !== undefined) kept.delete(oldest);
      }
      return answer;
    },
  };
}

/** What is found out about a thing, once for as long as the thing is there. */
export function oncePer<K extends object, T>(find: (about: K) => T): (about: K) => T {
  const found = new WeakMap<K, { readonly answer: T }>();
  return (about) => {
    const known = found.get(about);
    if (known) return known.answer;
    const answer = find(about);
    found.set(about, { answer });
    return answer;
  };
}

/**
 * Answers about things, kept as long as the thing is there: the `limit` of each that were asked for last, or all of them where
 * the limit is infinite.
 */
interface RememberedOf<K extends object, T> {
  of(about: K, key: string, make: () => T): T;
}

export function rememberedOf<K extends object, T>(limit: number): RememberedOf<K, T> {
  const byThing = new WeakMap<K, Remembered<T>>();
  return {
    of(about, key, make) {
      let known = byThing.get(about);
      if (!known) {
        known = remembered<T>(limit);
        byThing.set(about, known);
      }
      return known.of(key, make);
    },
  };
}
