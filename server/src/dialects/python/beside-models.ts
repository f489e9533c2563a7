import type { ConfigNode, MapEntry } from '../../config/node';
import { isNone, knownNode, nodeOf } from '../../config/python/node-of-value';
import type { PyCall, PyScalar, PyValue } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { argumentOf, type Calls } from './call-block';
import { chainOf, type ModelChain } from './model-chain';
import type { TrainerClass } from './trainer-classes';

/**
 * The models that a trainer of TRL is given to lie frozen beside the one that is trained, as the keys of its recipes that name them: the
 * teacher of a distillation, and reward models among the functions that score (`grpo_trainer.py`: text is the name of a model).
 */
export function modelsBeside(calls: Calls, call: PyCall, { order }: TrainerClass): MapEntry[] {
  return [...teacherOf(calls, call, order), ...scorersOf(calls, call, order)];
}

function teacherOf(calls: Calls, call: PyCall, order: readonly string[]): MapEntry[] {
  const given = argumentOf(call, 'teacher_model', order.indexOf('teacher_model'));
  if (!given || isNone(given)) return [];
  const chain = chainOf(calls.program, given);
  const name = nameOf(chain);
  if (!name || chain.branch) {
    calls.draft.leave(
      'value',
      { range: given.range },
      'teacher_model',
      say('Which model `{0}` is, is known only when the script runs.', 'teacher_model'),
      ['method.teacher', 'method.frozenParameters'],
    );
    return [];
  }
  if (chain.load) readHolding(calls, chain.load, 'teacher_model');
  return [entryOf('teacher_model_name_or_path', nodeOf(name), given, 'teacher_model')];
}

/** Functions take no memory of the GPU; of what calls made only models are known to. */
function scorersOf(calls: Calls, call: PyCall, order: readonly string[]): MapEntry[] {
  const given = argumentOf(call, 'reward_funcs', order.indexOf('reward_funcs'));
  if (!given) return [];
  const each = given.kind === 'list' ? given.items : [given];
  const names = each.flatMap((one) => {
    if (one.kind === 'scalar') return typeof one.value === 'string' ? [one] : [];
    if (one.kind !== 'object') return [];
    const chain = chainOf(calls.program, one);
    const name = chain.load && nameOf(chain);
    if (chain.load && name) readHolding(calls, chain.load, 'reward_funcs');
    return name ? [name] : [];
  });
  if (names.length === 0) return [];
  const items = names.map((name) => nodeOf(name));
  return [
    entryOf('reward_model_name_or_path', { kind: 'list', items, range: given.range }, given, 'reward_funcs'),
  ];
}

/** `path`: the argument that states it. */
const entryOf = (key: string, value: ConfigNode, { range }: PyValue, path: string): MapEntry => ({
  key,
  keyRange: range,
  value,
  path,
});

function nameOf({ name, load }: ModelChain): PyScalar | undefined {
  const given = name ?? (load && argumentOf(load, 'pretrained_model_name_or_path', 0));
  return given?.kind === 'scalar' && typeof given.value === 'string' ? given : undefined;
}

/** How a model beside the trained one stores its weights is not known. */
export function leaveHolding(draft: Draft, range: Range, key: string): void {
  const words = say('How `{0}` stores the weights is not known: that code is not read.', key);
  draft.leave('value', { range }, key, words, ['method.frozenDtype']);
}

/** How such a model is held: its type where the load states it; quantized ones take less than is counted. */
function readHolding({ draft, bf16 }: Calls, load: PyCall, key: string): void {
  const quantized = load.named.find(
    (argument) => /^(quantization_config|load_in_[48]bit)$/.test(argument.key) && !isNone(argument.value),
  );
  if (quantized) {
    leaveHolding(draft, quantized.used, key);
    return;
  }
  const given = argumentOf(load, 'dtype') ?? argumentOf(load, 'torch_dtype');
  const dtype = weightsDtypeOf(textOf(knownNode(given, { bf16 })));
  if (given && dtype) draft.state('method.frozenDtype', dtype, given, 'dtype');
}
