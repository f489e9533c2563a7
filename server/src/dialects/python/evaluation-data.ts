import { isNone } from '../../config/python/node-of-value';
import type { PyArgument, PyCall, PyValue } from '../../config/python/value';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { say } from '../../wording/say';
import { argumentOf, argumentsOf, type Calls } from './call-block';
import { isBase } from './trainer-classes';
import type { Training } from './training-call';

const TRAINER = fileIn(TRANSFORMERS, 'src/transformers/trainer.py');
/** The first release whose `Trainer.__init__` raises; before, the first evaluation does. */
const SINCE = '4.46';
/** Places of the arguments of `Trainer` and `Seq2SeqTrainer` (`trainer.py`). */
const PLACE = 4;
/** Trainers of TRL that hand what they get to the `__init__` of transformers' in every release since (0.12 to 1.16). */
const OF_TRL = new Set(['sft', 'dpo', 'kto', 'orpo', 'cpo', 'grpo', 'reward']);

/** An interval by its word, or by that of the enumeration: `IntervalStrategy.EPOCH`. */
function intervalOf(value: PyValue): string | undefined {
  if (value.kind === 'scalar') return typeof value.value === 'string' ? value.value : undefined;
  return value.kind === 'name'
    ? /(?:^|\.)IntervalStrategy\.([A-Z]+)$/.exec(value.name)?.[1]?.toLowerCase()
    : undefined;
}

/** The argument that asks for evaluations while the run trains; undefined where none does for sure. */
const askedBy = (given: readonly PyArgument[]): PyArgument | undefined =>
  given.find(
    ({ key, value }) =>
      /^(?:eval|evaluation)_strategy$/.test(key) && /^(?:steps|epoch)$/.test(intervalOf(value) ?? ''),
  );

/** A run that is to be evaluated and has nothing to evaluate it with: the trainer raises a `ValueError` as it is made. */
export function checkEvaluationData(
  { program, draft }: Calls,
  { call, kind }: Training,
  config: PyCall | undefined,
): void {
  const isOwn = isBase(call.callee);
  if (!config || (!isOwn && !(kind.method && OF_TRL.has(kind.method) && call.callee.startsWith('trl.'))))
    return;
  const parts = [call, config];
  if (parts.some(({ open, subclass, parsed }) => open !== undefined || subclass !== undefined || parsed))
    return;
  // Behind those whose order is known it may stand without its name.
  if (!isOwn && call.positional.length > kind.order.length) return;
  const data = argumentOf(call, 'eval_dataset', isOwn ? PLACE : undefined);
  const asked = askedBy(argumentsOf(program, config));
  if (!asked || (data && !isNone(data))) return;
  const message = say(
    '`{0}` asks for evaluations, and the trainer gets no `eval_dataset`: it stops with a `ValueError`.',
    asked.key,
  );
  draft.refuse('evaluation-data', message, asked.keyRange, { source: TRAINER, releases: { from: SINCE } });
}
