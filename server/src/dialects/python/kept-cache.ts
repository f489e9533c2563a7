import type { PyArgument, PyAssignment, PyCall, PyValue } from '../../config/python/value';
import { keepsTextSetting } from '../../model/text-cache-setting';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, argumentsOf, type Calls, isDecided } from './call-block';
import { makesModel } from './made-model';
import type { ModelChain } from './model-chain';
import { startOf } from './trainer-start';

const KEY = 'use_cache';

/** One place that sets whether the model returns its keys and values, in the order of the text. */
interface Setting {
  readonly value: PyValue;
  readonly range: Range;
  /** Calls that came before. */
  readonly after: number;
  /** A condition that the text does not settle decides about it. */
  readonly isUnsure: boolean;
}

/**
 * Whether an evaluation keeps keys and values, by the model's config: what loads it is given `use_cache`, or it is set later. The Trainer
 * overrules what was set before it since transformers 5 (`trainer.py`), with a setting of its own that is off.
 */
export function readKeptCache(
  calls: Calls,
  chain: ModelChain,
  trainer: PyCall,
  config: PyCall | undefined,
  { known, model }: ReadContext,
): void {
  const { draft } = calls;
  const isFifth = isAtLeast(known['version.transformers'], '5.0') === true;
  const parts = keepsTextSetting(model?.config?.model_type, isFifth)
    ? ['config.text_config']
    : ['config', 'config.text_config'];
  const loaded = parts.includes('config') ? [...ofLoading(calls, chain), ...ofTrainer(trainer, config)] : [];
  const last = [...loaded, ...ofConfig(calls, chain, trainer, parts)].at(-1);
  if (!last) return;
  const isLate = last.after > trainer.id;
  const value = last.value.kind === 'scalar' && !last.isUnsure ? last.value.value : undefined;
  if (value === false) draft.state('evaluation.keepsCache', false, { range: last.range }, KEY);
  else if (isFifth && !isLate) return;
  else if (value === true) {
    if (isFifth) draft.state('evaluation.keepsCache', true, { range: last.range }, KEY);
  } else
    draft.leave(
      'value',
      { range: last.range },
      KEY,
      say('Whether the model keeps keys and values in evaluation is known only when the script runs.'),
      ['evaluation.keepsCache'],
    );
}

const settingsAmong = (given: readonly PyArgument[], after: number): Setting[] =>
  given.flatMap(({ key, value, used }) =>
    key === KEY ? [{ value, range: used, after, isUnsure: value.kind === 'either' }] : [],
  );

/** What the call that makes the model is given, and the config that it is given. */
function ofLoading({ program }: Calls, { load }: ModelChain): readonly Setting[] {
  if (!load) return [];
  const place = makesModel(load) ? 0 : undefined;
  const given = argumentOf(load, 'config', place);
  const made = given?.kind === 'object' && given.item === undefined ? program.calls[given.id] : undefined;
  const ofMade = made ? argumentsOf(program, made) : [];
  return [...settingsAmong(ofMade, load.id), ...settingsAmong(load.named, load.id)];
}

/** `model_init_kwargs`, of the trainer's arguments or its own. */
function ofTrainer(trainer: PyCall, config: PyCall | undefined): readonly Setting[] {
  const words =
    (config && argumentOf(config, 'model_init_kwargs')) ?? argumentOf(trainer, 'model_init_kwargs');
  return words?.kind === 'dict' ? settingsAmong(words.entries, trainer.id) : [];
}

/** `model.config.use_cache = False`, of whatever hands on the model, before the training starts. */
function ofConfig(
  { program }: Calls,
  { ids }: ModelChain,
  trainer: PyCall,
  parts: readonly string[],
): readonly Setting[] {
  const start = startOf(program, trainer) ?? trainer;
  const ofModel = ({ of, within = '' }: PyAssignment) =>
    (ids.has(of) && parts.includes(within)) ||
    (of === trainer.id && parts.some((one) => within === `model.${one}`));
  return program.assignments
    .filter((one) => /^\.?use_cache$/.test(one.attribute) && ofModel(one) && one.after <= start.id)
    .map(({ value, range, after, conditions }) => ({
      value,
      range,
      after,
      isUnsure:
        !isDecided(program, value) || conditions.some((condition) => !trainer.conditions.includes(condition)),
    }));
}
