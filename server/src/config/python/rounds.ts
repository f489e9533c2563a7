import type { Machine } from './machine';
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
