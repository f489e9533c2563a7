import { forgetFields } from './functions';
import { LIBRARY } from './imports';
import type { Machine } from './machine';
import { updateObject } from './object-changes';
import type { SyntaxNode } from './syntax-node';
import type { Passed, PyValue } from './value';

/** Functions that look at what they are given and change nothing. */
const LOOKS = /^(?:print|isinstance|hasattr|getattr|type|dir|id|repr|str)$/;

/** `vars(object).update(values)` and `object.__dict__.update(values)`. */
export function changeByMethod(
  machine: Machine,
  owner: PyValue,
  method: string,
  { positional: [values] }: Passed,
  container: SyntaxNode,
): void {
  if (method !== 'update') return;
  const id =
    owner.kind === 'unknown'
      ? owner.of
      : owner.kind === 'object'
        ? objectOfVars(machine, owner.id)
        : undefined;
  const isDict = /(?:\.__dict__|^vars\(.*\))$/s.test(machine.textOf(container));
  if (id !== undefined && isDict) updateObject(machine, id, values, container);
}

/** The object whose attributes a call of `vars` gives. */
function objectOfVars(machine: Machine, call: number): number | undefined {
  const made = machine.calls[call];
  const [of] = made?.callee === 'vars' ? made.positional : [];
  return of?.kind === 'object' && of.item === undefined ? of.id : undefined;
}

/** Functions of a project's own whose names tell that they change what they are given. */
const ALTERS = /(?:adjust|apply|fill|inject|merge|modify|overrid|patch|resolve|set_|update)/i;

/** Modules and settings that are handed to code that is not followed may be changed by it. */
export function handOver(machine: Machine, callee: string | undefined, passed: Passed): void {
  if (LOOKS.test(callee ?? '')) return;
  const alters = callee !== undefined && !LIBRARY.test(callee) && ALTERS.test(callee);
  for (const value of [...passed.positional, ...passed.named.map((argument) => argument.value)]) {
    if (value.kind === 'name' && machine.namespaces.size > 0) machine.forget(value.name);
    if (value.kind === 'dict' && alters) machine.change(value, { ...value, open: true });
  }
}

/** A class whose constants somebody may set: handed to a function that is not followed, none of them is known. */
export function handClasses(callee: string | undefined, { positional, named }: Passed): void {
  // Parsers and constructors read what a class has, and so do libraries.
  if (
    LOOKS.test(callee ?? '') ||
    LIBRARY.test(callee ?? '') ||
    !/^[a-z_]\w*$/.test(callee?.split('.').at(-1) ?? '')
  )
    return;
  for (const value of [...positional, ...named.map((argument) => argument.value)])
    if (value.kind === 'class' && !value.isDataclass) forgetFields(value);
}
