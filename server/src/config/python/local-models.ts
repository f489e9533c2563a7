import { isMadeOf, PIPES } from './made-of';
import type { PyCall, PyValue } from './value';

/** What may see names of a function after it has returned, or binds names of others. */
const OUTLIVES = /\b(?:def|lambda|class|yield|global|nonlocal)\b/;
/** Functions that look at what they are given, and keep nothing of it. */
const LOOKS = /^(?:print|len|isinstance|hasattr|type|id|str|repr|sum|next)$/;

/** A function that has returned. */
interface Returned {
  /** Its body as it is written. */
  readonly body: string;
  readonly names: ReadonlyMap<string, PyValue>;
  readonly values: readonly PyValue[];
}

/**
 * Of models that a function made those that are gone with its names: neither what it gives back holds them nor anything that is still in
 * sight, and nothing else was handed them that could.
 */
export function goneModels(
  made: readonly number[],
  { body, names, values }: Returned,
  inSight: readonly PyValue[],
  calls: readonly PyCall[],
): number[] {
  if (made.length === 0 || OUTLIVES.test(body)) return [];
  return made.filter((id) => {
    const holds = (value: PyValue): boolean => isMadeOf(partOf(value), id, calls);
    if ([...values, ...inSight].some(holds)) return false;
    const own = [...names].flatMap(([name, value]) => (holds(value) ? [name] : []));
    if (own.length > 0 && new RegExp(`\\breturn\\b[^\\n]*\\b(?:${own.join('|')})\\b(?!\\s*[.(])`).test(body))
      return false;
    return !calls.some(
      ({ id: at, callee, positional, named }) =>
        at > id &&
        !PIPES.test(callee) &&
        !LOOKS.test(callee) &&
        [...positional, ...named.map((argument) => argument.value)].some(holds),
    );
  });
}

/** A part of an object stands for the object. */
const partOf = (value: PyValue): PyValue =>
  value.kind === 'unknown' && value.of !== undefined
    ? { kind: 'object', id: value.of, range: value.range }
    : value;
