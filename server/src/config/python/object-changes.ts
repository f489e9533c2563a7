import { attributesOf, forgetFields } from './functions';
import type { Machine } from './machine';
import { isMadeOf } from './made-of';
import { setAttribute } from './set-attribute';
import type { SyntaxNode } from './syntax-node';
import type { PyValue } from './value';

/** `setattr(object, name, value)`; where the name is not known, nothing of the object is from here on. */
export function setNamed(
  machine: Machine,
  owner: PyValue,
  name: PyValue | undefined,
  value: PyValue,
  node: SyntaxNode,
): void {
  if (name?.kind === 'scalar') setAttribute(machine, owner, String(name.value), value, node);
  else if (owner.kind === 'class') forgetFields(owner);
  else if (owner.kind === 'object' && owner.item === undefined) openObject(machine, owner.id, node);
}

/** `vars(object).update(values)`. */
export function updateObject(
  machine: Machine,
  id: number,
  values: PyValue | undefined,
  node: SyntaxNode,
): void {
  if (values?.kind !== 'dict' || values.open) {
    openObject(machine, id, node);
    return;
  }
  const owner = { kind: 'object', id, range: machine.rangeOf(node) } as const;
  for (const { key, value } of values.entries) setAttribute(machine, owner, key, value, node);
}

/** A trainer that was given it has trained by now: what is set from here on is of a later training. */
const hasTrained = ({ calls }: Machine, id: number): boolean =>
  calls.some(
    ({ callee, of, conditions }) =>
      callee === 'train' && of !== undefined && conditions.length === 0 && isMadeOf(of, id, calls),
  );

/** What an object was made with, and what was set on it, may be anything. */
function openObject(machine: Machine, id: number, node: SyntaxNode): void {
  const call = machine.calls[id];
  if (!call || hasTrained(machine, id)) return;
  const range = machine.rangeOf(node);
  const unknown: PyValue = { kind: 'unknown', range };
  const attributes = attributesOf(machine, id);
  for (const name of attributes.keys()) attributes.set(name, unknown);
  machine.calls[id] = {
    ...call,
    open: range,
    named: call.named.map((argument) => ({ ...argument, value: unknown })),
  };
}
