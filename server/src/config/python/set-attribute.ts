import { attributesOf } from './functions';
import { either, type Machine } from './machine';
import type { SyntaxNode } from './syntax-node';
import { type Namespace, NOBODY, type PyValue } from './value';

/** `owner.attribute = value`, as it is written or by `setattr`. */
export function setAttribute(
  machine: Machine,
  owner: PyValue,
  attribute: string,
  value: PyValue,
  target: SyntaxNode,
): void {
  if (owner.kind === 'class') {
    const [condition, before] = [machine.conditions.at(-1), owner.fields.get(attribute)];
    owner.fields.set(attribute, condition && before ? either([before, value], condition) : value);
    return;
  }
  const module = owner.kind === 'name' ? machine.namespaces.get(owner.name) : undefined;
  if (module) setInModule(machine, module, attribute, value, target);
  const made = owner.kind === 'object' ? owner.id : owner.kind === 'unknown' ? owner.of : undefined;
  // Whether weights are trained is noted of whatever it is set, and that their numbers are others.
  const id =
    made ?? (owner.kind === 'unknown' && /^(?:requires_grad|data)$/.test(attribute) ? NOBODY : undefined);
  if (id === undefined) return;
  machine.assignments.push({
    of: id,
    attribute: owner.kind === 'object' ? attribute : `.${attribute}`,
    ...(owner.kind === 'unknown' && owner.path !== undefined ? { within: owner.path } : {}),
    value,
    range: machine.rangeOf(target),
    conditions: [...machine.conditions],
    after: machine.calls.length,
    loops: [...machine.rounds],
  });
  if (owner.kind !== 'object' || owner.item !== undefined) return;
  const condition = machine.conditions.at(-1);
  const before =
    machine.attributes.get(id)?.get(attribute) ??
    machine.calls[id]?.named.find(({ key }) => key === attribute)?.value;
  attributesOf(machine, id).set(attribute, condition && before ? either([before, value], condition) : value);
}

/** `config.BATCH = 8`: whoever reads it later gets this, where it is certain to come before. */
function setInModule(
  machine: Machine,
  { values }: Namespace,
  name: string,
  value: PyValue,
  target: SyntaxNode,
): void {
  const certain = machine.conditions.length === 0 && machine.loops === 0 && machine.running.length === 0;
  // What calls of a module made is known in it alone.
  const isPlain = value.kind === 'scalar' && !machine.isImported;
  values.set(name, certain && isPlain ? value : machine.unknown(target));
}
