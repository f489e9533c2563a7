import type { PyArgument, PyAssignment, PyCall, PyProgram, PyValue } from '../../config/python/value';
import type { Range } from '../../text/place';
import { argumentOf, argumentsOf, type Calls, isDecided } from './call-block';
import { makesModel } from './made-model';
import type { ModelChain } from './model-chain';
import { startOf } from './trainer-start';

/** One place that sets a field of the model's config, in the order of the text. */
interface ConfigSetting {
  readonly value: PyValue;
  readonly range: Range;
  /** Calls that came before. */
  readonly after: number;
  /** A condition that the text does not settle decides about it. */
  readonly isUnsure: boolean;
}

/** What loads the model of a training, and who trains it. */
interface Trained {
  readonly chain: ModelChain;
  readonly trainer: PyCall;
  readonly config: PyCall | undefined;
}

/**
 * Where a text sets a field of the config of the model that is trained, in its order: the call that loads it, or `model_init_kwargs` of who does, is
 * given it, or it is set later. `parts` are the configs that count (`config`, `config.text_config`).
 */
export function configSettings(
  calls: Calls,
  { chain, trainer, config }: Trained,
  key: string,
  parts: readonly string[],
): readonly ConfigSetting[] {
  const loaded = parts.includes('config')
    ? [...ofLoading(calls, chain, key), ...ofTrainer(trainer, config, key)]
    : [];
  return [...loaded, ...ofConfig(calls, chain, trainer, key, parts)];
}

const settingsAmong = (given: readonly PyArgument[], after: number, field: string): ConfigSetting[] =>
  given.flatMap(({ key, value, used }) =>
    key === field ? [{ value, range: used, after, isUnsure: value.kind === 'either' }] : [],
  );

/** What the call that makes the model is given, and the config that it is given. */
function ofLoading({ program }: Calls, { load }: ModelChain, key: string): readonly ConfigSetting[] {
  if (!load) return [];
  const place = makesModel(load) ? 0 : undefined;
  const given = argumentOf(load, 'config', place);
  const made = given?.kind === 'object' && given.item === undefined ? program.calls[given.id] : undefined;
  if (!made) return settingsAmong(load.named, load.id, key);
  const later = program.assignments.filter((one) => one.of === made.id && one.after <= load.id);
  return [
    ...settingsAmong(argumentsOf(program, made), made.id, key),
    ...assignedAmong(program, later, load, key, ['', 'text_config']),
    ...settingsAmong(load.named, load.id, key),
  ];
}

/** `model_init_kwargs`, of the trainer's arguments or its own. */
function ofTrainer(trainer: PyCall, config: PyCall | undefined, key: string): readonly ConfigSetting[] {
  const words =
    (config && argumentOf(config, 'model_init_kwargs')) ?? argumentOf(trainer, 'model_init_kwargs');
  return words?.kind === 'dict' ? settingsAmong(words.entries, trainer.id, key) : [];
}

/** `model.config.use_cache = False`, of whatever hands on the model, before the training starts. */
function ofConfig(
  { program }: Calls,
  { ids }: ModelChain,
  trainer: PyCall,
  key: string,
  parts: readonly string[],
): readonly ConfigSetting[] {
  const start = startOf(program, trainer) ?? trainer;
  const before = program.assignments.filter((one) => one.after <= start.id);
  return [
    ...assignedAmong(
      program,
      before.filter(({ of }) => ids.has(of)),
      trainer,
      key,
      parts,
    ),
    ...assignedAmong(
      program,
      before.filter(({ of }) => of === trainer.id),
      trainer,
      key,
      parts.map((one) => `model.${one}`),
    ),
  ].toSorted((one, other) => one.after - other.after);
}

/** Assignments to a field of any of these parts of an object; `user` is who takes it up. */
function assignedAmong(
  program: PyProgram,
  assignments: readonly PyAssignment[],
  user: PyCall,
  key: string,
  parts: readonly string[],
): readonly ConfigSetting[] {
  return assignments
    .filter(({ attribute, within = '' }) => attribute.replace(/^\./, '') === key && parts.includes(within))
    .map(({ value, range, after, conditions }) => ({
      value,
      range,
      after,
      isUnsure:
        !isDecided(program, value) || conditions.some((condition) => !user.conditions.includes(condition)),
    }));
}
