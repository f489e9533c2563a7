import type { PyCall, PyProgram } from '../../config/python/value';
import type { Range } from '../../text/place';
import { type TrainerClass, trainerOf } from './trainer-classes';
import { trainingLoop } from './training-loop';

/** A trainer that a program makes. */
export interface Training {
  readonly call: PyCall;
  readonly kind: TrainerClass;
}

/** The call that starts a trainer. */
const startOf = (program: PyProgram, { id }: PyCall): PyCall | undefined =>
  program.calls.find(({ callee, of }) => callee === 'train' && of?.id === id);

/** Calls of trainers, each once: those whose `train` is called, where there are any. */
export function trainings(program: PyProgram): Training[] {
  const made = program.calls.flatMap((call) => {
    const kind = call.of ? undefined : trainerOf(call.callee);
    return kind ? [{ call, kind }] : [];
  });
  const trained = made.filter(({ call }) => startOf(program, call));
  return (trained.length > 0 ? trained : made).filter(
    ({ call }, index, all) =>
      all.findIndex((other) => other.call.range.start.line === call.range.start.line) === index,
  );
}

/** Where a program starts the training that is estimated: `train()`, else the trainer that is made. */
export function trainingCall(program: PyProgram): Range | undefined {
  const [first] = trainings(program);
  if (!first) return trainingLoop(program)?.backward.calleeRange;
  return (startOf(program, first.call) ?? first.call).calleeRange;
}
