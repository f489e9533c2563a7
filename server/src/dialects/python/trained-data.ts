import { hasOtherEntries, KEEPS_CONTENT } from '../../config/python/changed-entries';
import { isNone } from '../../config/python/node-of-value';
import type { PyCall, PyFunction, PyProgram, PyValue } from '../../config/python/value';
import { isWithin } from '../../text/place';
import { argumentOf } from './call-block';

/** How many calls data is followed back through. */
const DEEPEST = 24;

/**
 * The calls that made the data set that a trainer gets, from the last to the one that loads it as it is published; undefined where one of them
 * is not followed. What is loaded from files may have been written by the text itself.
 */
function stepsOf(program: PyProgram, given: PyValue | undefined): readonly PyCall[] | undefined {
  const { calls } = program;
  const steps: PyCall[] = [];
  let id = given?.kind === 'object' ? given.id : given?.kind === 'unknown' ? given.entryOf : undefined;
  while (id !== undefined && steps.length < DEEPEST) {
    const call: PyCall | undefined = calls[id];
    if (!call || hasOtherEntries(program, id) || transforms(calls, id)) return undefined;
    steps.push(call);
    if (!call.of)
      return /(?:^|\.)load_dataset$/.test(call.callee) && !argumentOf(call, 'data_files') ? steps : undefined;
    if (call.callee !== 'map' && !KEEPS_CONTENT.test(call.callee)) return undefined;
    id = call.of.id;
  }
  return undefined;
}

/** A transform of a data set runs where samples are taken. */
const transforms = (calls: readonly PyCall[], id: number): boolean =>
  calls.some(({ callee, of }) => of?.id === id && callee === 'set_transform');

/** What makes batches is the trainer's own or a library's: it calls no tokenizer. */
function collatesTokens({ calls }: PyProgram, trainer: PyCall): boolean {
  const collator = argumentOf(trainer, 'data_collator');
  if (!collator || isNone(collator)) return true;
  const made = collator.kind === 'object' ? calls[collator.id] : undefined;
  if (made) return made.subclass === undefined && made.callee.startsWith('transformers.');
  return collator.kind === 'name' && collator.name.startsWith('transformers.');
}

const mapped = (call: PyCall): PyFunction | undefined => {
  const given = call.callee === 'map' ? argumentOf(call, 'function', 0) : undefined;
  return given?.kind === 'function' ? given : undefined;
};

/** Whether a call stands in the code of a function. */
function standsIn({ range, id }: PyCall, { node, home }: PyFunction, map: PyCall): boolean {
  return id > map.id && isWithin(range, home.lines.range(node.start, node.end));
}

/**
 * Whether a call of a tokenizer may be of the data that a trainer gets. Where that is followed back to what is loaded, it is not if it stands in
 * what another data set is mapped by, nor at all where nothing maps that which is trained on.
 */
export function mayBeOfData(program: PyProgram, trainer: PyCall): (call: PyCall) => boolean {
  const steps = stepsOf(program, argumentOf(trainer, 'train_dataset'));
  if (!steps || trainer.subclass !== undefined || trainer.open || !collatesTokens(program, trainer))
    return () => true;
  const maps = steps.filter(({ callee }) => callee === 'map');
  if (maps.length === 0) return () => false;
  const others = program.calls.filter((call) => mapped(call) && !maps.includes(call));
  const isIn = (call: PyCall) => (map: PyCall) => {
    const by = mapped(map);
    return by !== undefined && standsIn(call, by, map);
  };
  return (call) => !others.some(isIn(call)) || maps.some(isIn(call));
}
