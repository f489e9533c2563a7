import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import type { ReadContext } from '../dialect';
import { generatesOwn } from '../hf/training-arguments';
import { argumentOf, type Calls, leaveArgument } from './call-block';

const LENGTHS = ['max_length', 'max_new_tokens'] as const;

/** Tokens where nothing states more (`GenerationConfig.max_length`), and beams. */
const TOKENS = 20;
const BEAMS = 1;

/**
 * How many tokens an evaluation generates by what the calls themselves pass: `evaluate(max_length=...)` goes before the arguments of the
 * trainer, and `generation_config` takes the place of the model's own (transformers 5.23, `trainer_seq2seq.py`). Arguments that a parser makes
 * may turn it on elsewhere.
 */
export function readGeneratedLength(
  calls: Calls,
  trainer: PyCall,
  config: PyCall | undefined,
  { known, model }: ReadContext,
): void {
  const generates = config && argumentOf(config, 'predict_with_generate');
  const isOn = generates
    ? flagOf(knownNode(generates)) === true
    : known['evaluation.generatedTokens'] !== undefined;
  if (!config || !isOn) return;
  readMade(calls, config);
  readPassed(calls, trainer, config, generatesOwn(model?.config?.model_type));
}

/** What one evaluation asks for, and where that stands; no place where it is the default. */
interface Asked {
  readonly count: number;
  readonly value?: PyValue;
  readonly key?: string;
}

/**
 * What calls pass, where that is more than what evaluations while training generate, which go by the arguments alone: the most of all
 * decides. What a call passes and is not known leaves it open, and so does a config of the checkpoint that decides about evaluations without any.
 */
function readPassed({ program, draft }: Calls, trainer: PyCall, config: PyCall, byCheckpoint: boolean): void {
  const strategy = argumentOf(config, 'eval_strategy') ?? argumentOf(config, 'evaluation_strategy');
  const trains = strategy !== undefined && !/(^|\.)no$/i.test(textOf(knownNode(strategy)) ?? '');
  const made = program.calls.filter(
    ({ callee, of }) => of?.id === trainer.id && /^(evaluate|predict)$/.test(callee),
  );
  const settle = (
    field: 'evaluation.generatedTokens' | 'evaluation.beams',
    keys: readonly string[],
    argument: PyValue | undefined,
    otherwise: number,
  ) => {
    const stated = draft.valueOf(field) ?? integerOf(argument && knownNode(argument));
    const count = typeof stated === 'number' ? stated : byCheckpoint ? undefined : otherwise;
    const own: Asked | undefined = count === undefined ? undefined : { count };
    const asked = made.map((call): Asked | undefined => {
      const passed = keys.map((key) => ({ key, value: argumentOf(call, key) }));
      const given = passed.filter(({ value }) => value && !isNone(value)).at(-1);
      if (!given?.value) return own;
      const passes = integerOf(knownNode(given.value));
      if (passes === undefined) leaveArgument(draft, given.key, given.value, [field]);
      return passes === undefined ? undefined : { count: passes, value: given.value, key: given.key };
    });
    const all = [...asked, ...(trains ? [own] : [])];
    if (all.includes(undefined)) return;
    const [most] = all.sort((a, b) => (b?.count ?? 0) - (a?.count ?? 0));
    if (!most?.value || !most.key) return;
    draft.forget(field);
    draft.state(field, most.count, most.value, most.key);
  };
  const length = argumentOf(config, 'generation_max_length');
  const beams = argumentOf(config, 'generation_num_beams');
  settle('evaluation.generatedTokens', LENGTHS, length, TOKENS);
  settle('evaluation.beams', ['num_beams'], beams, BEAMS);
}

/** `GenerationConfig(max_length=8, num_beams=4)`; what is not known of it leaves the length open. */
function readMade(calls: Calls, config: PyCall): void {
  const { program, draft } = calls;
  if (argumentOf(config, 'generation_max_length')) return;
  const given = argumentOf(config, 'generation_config');
  if (!given || (given.kind === 'scalar' && given.value === null)) return;
  const made = given.kind === 'object' ? program.calls[given.id] : undefined;
  if (!made || !/(^|\.)GenerationConfig$/.test(made.callee)) {
    leaveArgument(draft, 'generation_config', given, ['evaluation.generatedTokens', 'evaluation.beams']);
    return;
  }
  const length = lengthOf(made);
  if (length) draft.state('evaluation.generatedTokens', length.count, length.value, length.key);
  const beams = argumentOf(made, 'num_beams');
  const count = beams && integerOf(knownNode(beams));
  if (beams && count !== undefined && !argumentOf(config, 'generation_num_beams'))
    draft.state('evaluation.beams', count, beams, 'num_beams');
}

function lengthOf(call: PyCall) {
  const found = LENGTHS.flatMap((key) => {
    const value = argumentOf(call, key);
    const count = value && integerOf(knownNode(value));
    return value && count !== undefined ? [{ key, value, count }] : [];
  });
  return found.at(-1);
}
