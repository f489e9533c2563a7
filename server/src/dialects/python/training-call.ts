import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import type { Range } from '../../text/place';
import { calledRecipe } from './called-recipe';
import { type TrainerClass, trainerOf } from './trainer-classes';
import { isGiven, startOf } from './trainer-start';
import { trainingLoop } from './training-loop';

/** A trainer that a program makes. */
export interface Training {
  readonly call: PyCall;
  readonly kind: TrainerClass;
}

/** Whether a trainer whose `train` is not called is asked for its metrics alone, and handed to nobody who may train. */
function onlyEvaluates({ calls }: PyProgram, { id }: PyCall): boolean {
  const isIt = (value: PyValue | undefined) => value?.kind === 'object' && value.id === id;
  const asked = calls.some(({ callee, of }) => isIt(of) && /^(evaluate|predict)$/.test(callee));
  return asked && !calls.some((call) => isGiven(call, id));
}

/** `Trainer`, which a part of a program does not import itself, is that of transformers where it is given its arguments. */
function bareTrainer({ calls }: PyProgram, call: PyCall): TrainerClass | undefined {
  const args = call.callee === 'Trainer' ? call.named.find(({ key }) => key === 'args')?.value : undefined;
  const maker = args?.kind === 'object' && args.item === undefined ? calls[args.id]?.callee : undefined;
  return /^transformers\.(?:\w+\.)*TrainingArguments$/.test(maker ?? '')
    ? trainerOf('transformers.Trainer')
    : undefined;
}

/**
 * A trainer of a class of the file with the model that the class hands on to that which it inherits from, where the call itself names none:
 * other parameters of its own may come before.
 */
function withHanded(call: PyCall): PyCall {
  const model = call.handed?.findLast(({ key }) => key === 'model');
  const isSeen = model?.value.kind === 'object' || model?.value.kind === 'scalar';
  return model && isSeen && !call.named.some(({ key }) => key === 'model')
    ? { ...call, named: [...call.named, model] }
    : call;
}

/** Calls of trainers, each once: those whose `train` is called, where there are any. */
export function trainings(program: PyProgram): Training[] {
  const made = program.calls.flatMap((call) => {
    const kind = call.of ? undefined : (trainerOf(call.callee) ?? bareTrainer(program, call));
    return kind ? [{ call: withHanded(call), kind }] : [];
  });
  const trained = made.filter(({ call }) => startOf(program, call));
  return (trained.length > 0 ? trained : made.filter(({ call }) => !onlyEvaluates(program, call))).filter(
    ({ call }, index, all) =>
      all.findIndex((other) => other.call.range.start.line === call.range.start.line) === index,
  );
}

/** Where a program starts the training that is estimated: `train()`, else the trainer that is made. */
export function trainingCall(program: PyProgram): Range | undefined {
  const [first] = trainings(program);
  if (!first) return (trainingLoop(program)?.backward ?? calledRecipe(program)?.call)?.calleeRange;
  return (startOf(program, first.call) ?? first.call).calleeRange;
}
