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
  const copy = {};
  take(copy, whole);
  take(copy, changes);
  return copy as T;
}

/** Assigning plain values takes a third of the time that defining them does, and every reading and analysis is copied so. */
function take(copy: Record<string, unknown>, from: object): void {
  for (const key of Object.keys(from)) {
    const property = Object.getOwnPropertyDescriptor(from, key);
    if (property?.get || key in copy) Object.defineProperty(copy, key, property ?? {});
    else copy[key] = property?.value;
  }
}
