import type { Storage, Tape } from '../model/tape';
import { say } from '../wording/say';
import { layerPlaces, layerWords } from './layer-places';
import { combine, emptyLedger, type Ledger, post } from './ledger';
import { type Excursion, playForward, rounded } from './play';
import { NONE, type Sharding } from './sharding-scheme';
import { operatorWords } from './step';
import type { TracedStage } from './traced-run';

/** Plays a forward pass without a graph from a level on, at both ends of every run of equal stages: `places` of the stages. */
export function forwardWithoutGraph(
  stages: readonly TracedStage[],
  start: Ledger,
  sharding: Sharding,
  mark: (label: string, ledger: Ledger) => void,
  cache?: (stage: TracedStage) => Ledger,
  places = layerPlaces(stages),
): void {
  const known = new Map<Tape, Map<string, Excursion>>();
  const plan = sharding.plan(stages);
  let level = combine(start, plan.start);
  // What the model's own forward names until it returns, such as the embedded tokens.
  let named = emptyLedger();
  // Of that, what the next stage takes over: it is the stage's own while its first copy runs.
  let entering: readonly Storage[] = [];
  for (const [index, traced] of stages.entries()) {
    const place = places[index] ?? { first: 0, stack: '' };
    const { stage, copies, tape } = traced;
    if (stage.role === 'head') level = combine(level, [named, -1]);
    const played = remembered(known, traced);
    const own = plan.stages.get(traced);
    const cached = cache?.(traced) ?? NONE;
    const change = combine(played.exit, own?.forwardChange ?? NONE, cached);
    const words = played.operator === 'start' ? stage.name : operatorWords(played.operator);
    const sizes = new Set([...traced.consumed].map(({ bytes }) => bytes));
    const kept = emptyLedger();
    for (const storage of entering)
      if (sizes.has(storage.bytes)) post(kept, 'activations', rounded(storage.bytes), storage);
    const at = (i: number) => {
      const where = stage.role === 'layer' ? `${layerWords(place, i)}, ` : '';
      const there = combine(level, [change, i], [kept, i > 0 ? 1 : 0]);
      const passage = own?.forward(i, copies);
      const during = passage?.during ?? NONE;
      if (passage) mark(`${where}${say('weights gathered')}`, combine(there, passage.before));
      mark(`${where}${words}`, combine(there, during, played.peak, cached));
    };
    // With gathers the second copy and the last but one differ from the ends.
    const numbers = own ? [0, 1, copies - 2, copies - 1] : [0, copies - 1];
    for (const i of new Set(numbers.filter((number) => number >= 0 && number < copies))) at(i);
    const leaving = new Set(tape.exit.map(({ storage }) => storage));
    entering = tape.heldByModel.filter((storage) => leaving.has(storage));
    for (const storage of tape.heldByModel)
      if (!leaving.has(storage)) post(kept, 'activations', rounded(storage.bytes), storage);
    level = combine(level, [change, copies], kept);
    named = combine(named, kept);
  }
}

/** Autograd keeps nothing; autocast caches its copies of trained weights all the same (`autocast_mode.cpp`). */
function remembered(known: Map<Tape, Map<string, Excursion>>, traced: TracedStage): Excursion {
  const key = [...traced.consumed].map((storage) => storage.id).join();
  const variants = known.get(traced.tape) ?? new Map<string, Excursion>();
  known.set(traced.tape, variants);
  const played =
    variants.get(key) ??
    playForward(traced.tape, {
      grad: false,
      consumed: traced.consumed,
      callerHoldsEntry: traced.stage.role === 'layer',
    });
  variants.set(key, played);
  return played;
}
