import { lifted, type Machine } from './machine';
import type { SyntaxNode } from './syntax-node';
import type { PyLoop, PyValue } from './value';

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

/** What a function gives that goes through numbers or through a value, with how many items that has; undefined for any other. */
export function iterated(
  machine: Machine,
  name: string,
  given: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  if (name === 'range') return rangeOver(machine, given, node);
  if (name !== 'enumerate' && name !== 'reversed') return undefined;
  const [of] = given;
  return machine.unknown(node, of?.kind === 'unknown' && of.times ? { times: of.times } : {});
}
