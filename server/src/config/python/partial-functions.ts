import type { Machine } from './machine';
import type { Passed, PyCall, PyFunction, PyObject, PyValue } from './value';

const PARTIAL = /^functools\.partial$/;

/** What is passed behind what was passed before: an argument that is named again has the later value. */
export const behind = (before: Passed, { positional, named, open }: Passed): Passed => ({
  positional: [...before.positional, ...positional],
  named: [...before.named.filter(({ key }) => !named.some((later) => later.key === key)), ...named],
  ...((open ?? before.open) ? { open: open ?? before.open } : {}),
});

/** `functools.partial(f, ...)` of a function of the file: the same function, which has these arguments already; undefined of any other call. */
export function partialFunction(name: string, { positional, named, open }: Passed): PyFunction | undefined {
  const [of, ...given] = positional;
  if (!PARTIAL.test(name) || of?.kind !== 'function') return undefined;
  const passed: Passed = { positional: given, named, ...(open ? { open } : {}) };
  return { ...of, bound: of.bound ? behind(of.bound, passed) : passed };
}

/** What a call of `functools.partial(...)`, kept as an object, calls, and with what; undefined of any other object. */
export function calledByPartial(
  { calls }: Machine,
  of: PyObject,
  passed: Passed,
): { readonly called: PyValue; readonly passed: Passed } | undefined {
  const made: PyCall | undefined = of.item === undefined ? calls[of.id] : undefined;
  if (!made || made.of || !PARTIAL.test(made.callee)) return undefined;
  const [called, ...given] = made.positional;
  return called && { called, passed: behind({ ...made, positional: given }, passed) };
}
