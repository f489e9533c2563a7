import { forgetFields } from './functions';
import { LIBRARY } from './imports';
import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import type { Passed, PyValue } from './value';

/** Methods that change a list or a dictionary. */
const CHANGES = /^(?:append|clear|extend|insert|pop|popitem|remove|reverse|setdefault|sort|update)$/;
/** Functions that look at what they are given and change nothing. */
const LOOKS = /^(?:print|isinstance|hasattr|getattr|type|dir|id|repr|str)$/;

/** What `config.ARGS` holds is changed in place: it is not known from here on. */
export function changeInModule(machine: Machine, place: SyntaxNode): void {
  const [object, attribute] = [childIn(place, 'object'), childIn(place, 'attribute')];
  if (!attribute || !object || !/^(identifier|attribute)$/.test(object.type)) return;
  const owner = machine.evaluate(machine, object);
  const values = owner.kind === 'name' ? machine.namespaces.get(owner.name)?.values : undefined;
  if (values?.has(machine.textOf(attribute)))
    values.set(machine.textOf(attribute), machine.unknown(attribute));
}

/** `ARGS.update(...)` of a value of another module: what it holds is not known from here on. */
export function changeByMethod(
  machine: Machine,
  owner: PyValue,
  method: string,
  container: SyntaxNode,
): void {
  if (!CHANGES.test(method) || (owner.kind !== 'dict' && owner.kind !== 'list')) return;
  if (container.type === 'attribute') changeInModule(machine, container);
  else if (container.type === 'identifier' && owner.range.uri !== undefined)
    machine.bind(machine.textOf(container), machine.unknown(container));
}

/** Modules that are handed to code that is not followed may be changed by it. */
export function handModules(machine: Machine, callee: string | undefined, passed: Passed): void {
  if (machine.namespaces.size === 0 || LOOKS.test(callee ?? '')) return;
  for (const value of [...passed.positional, ...passed.named.map((argument) => argument.value)])
    if (value.kind === 'name') machine.forget(value.name);
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
