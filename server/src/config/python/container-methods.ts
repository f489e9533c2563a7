import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import { isListOfTexts, isText } from './texts';
import type { Passed, PyArgument, PyDict, PyList, PyUnknown, PyValue } from './value';

/** A method of a dictionary: what it answers, and what it changes in place. */
export function ofDictionary(
  machine: Machine,
  owner: PyDict,
  name: string,
  { positional, named, open }: Passed,
  node: SyntaxNode,
): PyValue {
  const [key, byDefault] = positional;
  const range = machine.rangeOf(node);
  const listed = (items: readonly PyValue[]): PyValue =>
    owner.open ? machine.unknown(node) : { kind: 'list', items, range };
  const keyOf = (entry: PyArgument): PyValue => ({ kind: 'scalar', value: entry.key, range: entry.keyRange });
  const found =
    key?.kind === 'scalar' ? owner.entries.find((entry) => entry.key === String(key.value)) : undefined;
  const answer =
    key?.kind !== 'scalar' || owner.open
      ? machine.unknown(node)
      : (found?.value ?? byDefault ?? machine.scalar(null, node));
  switch (name) {
    case 'get':
      return answer;
    case 'keys':
      return listed(owner.entries.map(keyOf));
    case 'values':
      return listed(owner.entries.map(({ value }) => value));
    case 'items':
      return listed(
        owner.entries.map((entry) => ({ kind: 'list', items: [keyOf(entry), entry.value], range })),
      );
    case 'copy':
      return { ...owner };
    case 'pop':
      machine.change(owner, {
        ...owner,
        entries: owner.entries.filter((entry) => entry !== found),
        ...(key?.kind === 'scalar' ? {} : { open: true }),
      });
      return answer;
    case 'setdefault':
      if (key?.kind === 'scalar' && found) return answer;
      machine.change(owner, { ...owner, open: true });
      return machine.unknown(node);
    case 'update': {
      const unknown = open !== undefined || (key !== undefined && key.kind !== 'dict');
      const more = [...(key?.kind === 'dict' ? key.entries : []), ...named];
      const over = new Map([...owner.entries, ...more].map((entry) => [entry.key, entry]));
      const isOpen = unknown || owner.open || (key?.kind === 'dict' && key.open);
      machine.change(owner, { ...owner, entries: [...over.values()], ...(isOpen ? { open: true } : {}) });
      return machine.scalar(null, node);
    }
    case 'clear':
    case 'popitem':
      machine.change(owner, { ...owner, open: true });
      return machine.unknown(node);
    default:
      return machine.unknown(node);
  }
}

/** Methods that change a list. */
const CHANGES = /^(?:append|clear|extend|insert|pop|remove|reverse|sort)$/;

/** What a loop over known items adds in all its rounds, where each adds its item: `for name in NAMES: found.append(name)`. */
function eachItem(machine: Machine, name: string, node: SyntaxNode): readonly PyValue[] | undefined {
  const [round] = machine.rounds;
  const each = machine.loops === 1 && machine.rounds.length === 1 ? round?.each : undefined;
  const [added] = childIn(node, 'arguments')?.children ?? [];
  if (name !== 'append' || !each || added?.type !== 'identifier' || machine.textOf(added) !== each.name)
    return undefined;
  return machine.lookup(each.name) === each.bound ? each.items : undefined;
}

/** A method of a list. What is added once, and certainly, is known, and what all rounds of a loop add. */
export function ofList(
  machine: Machine,
  owner: PyList,
  name: string,
  { positional: [given] }: Passed,
  node: SyntaxNode,
): PyValue {
  if (!CHANGES.test(name)) return machine.unknown(node);
  const once = machine.loops === 0;
  const more =
    name === 'append' && given
      ? [given]
      : name === 'extend' && given?.kind === 'list'
        ? given.items
        : undefined;
  const added = once ? more : eachItem(machine, name, node);
  if (added) machine.change(owner, { ...owner, items: [...owner.items, ...added] });
  else machine.change(owner, ofTheSame(machine, owner, name, given, node));
  return machine.unknown(node);
}

/** A list that a loop changes: of texts as before, where texts are all that it gets. */
function ofTheSame(
  machine: Machine,
  owner: PyList | PyUnknown,
  name: string,
  given: PyValue | undefined,
  node: SyntaxNode,
): PyUnknown {
  const gets = name === 'append' ? isText(given) : given !== undefined && isListOfTexts(given);
  const adds = /^(?:append|extend|insert)$/.test(name);
  return machine.unknown(node, isListOfTexts(owner) && (!adds || gets) ? { text: 'list' } : {});
}

/** A method of a list of texts of which nobody knows how many they are. */
export function ofTexts(
  machine: Machine,
  owner: PyUnknown,
  name: string,
  { positional: [given] }: Passed,
  node: SyntaxNode,
): PyValue {
  if (!CHANGES.test(name)) return machine.unknown(node);
  const after = ofTheSame(machine, owner, name, given, node);
  if (after.text !== owner.text) machine.change(owner, after);
  return machine.unknown(node, name === 'pop' ? { text: 'one' } : {});
}
