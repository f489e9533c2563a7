import type { Range } from '../../text/place';
import { either, lifted, type Machine } from './machine';
import type { SyntaxNode } from './syntax-node';
import { eachText } from './texts';
import type { PyLoop, PyUnknown, PyValue } from './value';

/** What goes through something and gives as many items: `tqdm(range(4))`. */
const HANDS_ON = /(?:^|\.)(?:tqdm|trange|track)$/;

/** How often a loop goes round over what is known: as many as `range` gives, or as a list has. */
export function timesOf(machine: Machine, over: PyValue | undefined): PyValue | undefined {
  if (over?.kind === 'unknown') return over.times;
  const call = over?.kind === 'object' && over.item === undefined ? machine.calls[over.id] : undefined;
  if (!call || call.of || !HANDS_ON.test(call.callee)) return undefined;
  const [first] = call.positional;
  return call.callee.endsWith('trange') ? first : timesOf(machine, first);
}

/** Follows a loop's body inside of it. */
export function inRound(machine: Machine, loop: PyLoop, body: () => void): void {
  const { outside } = machine;
  if (machine.rounds.length === 0) machine.outside = machine.conditions.length;
  machine.rounds.push(loop);
  machine.loops += 1;
  body();
  machine.loops -= 1;
  machine.rounds.pop();
  machine.outside = outside;
}

/** What a loop over known items binds in each round: one of them, or of several names one of what stands in their place; too many are `unknown`. */
export function inEach(
  items: readonly PyValue[],
  target: SyntaxNode,
  unknown: PyUnknown,
  because: Range,
): PyValue {
  const [first] = items;
  const names = /^(?:pattern_list|tuple_pattern|list_pattern)$/.test(target.type);
  const rows = items.flatMap((item) => (item.kind === 'list' ? [item.items] : []));
  if (names && first?.kind === 'list' && rows.length === items.length)
    return {
      ...first,
      items: first.items.map((item, i) => {
        const column = rows.flatMap((row) => row[i] ?? []);
        const other: PyUnknown = {
          kind: 'unknown',
          range: item.range,
          ...eachText({ ...first, items: column }),
        };
        return inEach(column, target.children[i] ?? target, other, because);
      }),
    };
  const one = either(items, because);
  return one.kind === 'unknown' && one.text === undefined ? { ...one, ...unknown } : one;
}

/** `range(4)`, `range(1, 5)`: as many numbers as lie between. */
function rangeOver(machine: Machine, given: readonly PyValue[], node: SyntaxNode): PyValue {
  return lifted(given, ([first, second, ...step]) => {
    if (step.length > 0 || first?.kind !== 'scalar' || typeof first.value !== 'number')
      return machine.unknown(node);
    if (!second) return machine.unknown(node, { times: first });
    if (second.kind !== 'scalar' || typeof second.value !== 'number') return machine.unknown(node);
    const times = Math.max(0, second.value - first.value);
    return machine.unknown(node, { times: machine.scalar(times, node) });
  });
}

/** What a function gives that goes through numbers or through values, with how many items that has; undefined for any other. */
export function iterated(
  machine: Machine,
  name: string,
  given: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  if (name === 'range') return rangeOver(machine, given, node);
  const range = machine.rangeOf(node);
  if (name === 'zip' && given.length > 0 && given.every((one) => one.kind === 'list')) {
    const [first, ...others] = given;
    const count = Math.min(...given.map(({ items }) => items.length));
    const items = first?.items.slice(0, count).map((item, i): PyValue => {
      return { kind: 'list', items: [item, ...others.flatMap((other) => other.items[i] ?? [])], range };
    });
    return { kind: 'list', items: items ?? [], range };
  }
  if (name !== 'enumerate' && name !== 'reversed') return undefined;
  const [of] = given;
  if (of?.kind === 'list' && name === 'reversed') return { ...of, items: of.items.toReversed() };
  if (of?.kind === 'list') {
    const items = of.items.map((item): PyValue => {
      return { kind: 'list', items: [machine.unknown(node), item], range };
    });
    return { kind: 'list', items, range };
  }
  return machine.unknown(node, of?.kind === 'unknown' && of.times ? { times: of.times } : {});
}
