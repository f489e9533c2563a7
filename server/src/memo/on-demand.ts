/** Something that is made when it is first asked for, and kept. */
export function onDemand<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * A copy of a value with some of it replaced. What is worked out when it is asked for (a getter) is still not asked for: a
 * spread would.
 */
export function withChanges<T extends object>(whole: T, changes: Partial<T>): T {
  const copy: object = Object.defineProperties({}, Object.getOwnPropertyDescriptors(whole));
  return Object.defineProperties(copy, Object.getOwnPropertyDescriptors(changes)) as T;
}
