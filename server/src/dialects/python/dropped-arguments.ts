import trlNeeds from '../../../data/trl-needs.json';
import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { FrameworkKeys } from '../framework-keys';
import { TRL_RELEASES } from '../hf/model-arguments-keys';
import { releaseOfValue } from '../hf/optimizer-releases';
import { TRAINER_RELEASES } from '../hf/training-arguments-keys';
import { argumentOf, type Calls, surelyPassed } from './call-block';
import { takenNames } from './imported-names';
import { isBase } from './trainer-classes';

type VersionField = 'version.transformers' | 'version.trl';

interface LastTaking {
  readonly keys: RegExp;
  readonly release: string;
}

/** What the trainers of preferences took themselves before their configs had it. */
const OF_PREFERENCES =
  /^(?:label_smoothing|loss_type|label_pad_token_id|padding_value|truncation_mode|max_(?:prompt_|target_)?length|is_encoder_decoder|disable_dropout|generate_during_eval|precompute_ref_log_probs|dataset_num_proc|(?:ref_)?model_init_kwargs|(?:model|ref)_adapter_name|reference_free|force_use_ref_model|beta)$/;

const tokenizerUntil = (release: string): LastTaking => ({ keys: /^tokenizer$/, release });

/**
 * The last release of TRL whose trainer takes an argument itself, or by a decorator (`__init__` in `trainer/*_trainer.py` of the last patch of each
 * minor version).
 */
const OF_TRL: Readonly<Partial<Record<string, readonly LastTaking[]>>> = {
  SFTTrainer: [
    {
      keys: /^(?:max_seq_length|packing|eval_packing|dataset_(?:text_field|num_proc|batch_size|kwargs)|num_of_sequences|chars_per_token|infinite|neftune_noise_alpha|model_init_kwargs)$/,
      release: '0.12.2',
    },
    { keys: /^model_init$/, release: '0.14.0' },
    tokenizerUntil('0.15.2'),
  ],
  DPOTrainer: [
    { keys: OF_PREFERENCES, release: '0.12.2' },
    tokenizerUntil('0.15.2'),
    { keys: /^model_init$/, release: '0.18.2' },
  ],
  GKDTrainer: [tokenizerUntil('0.12.2')],
  KTOTrainer: [tokenizerUntil('0.13.0')],
  CPOTrainer: [tokenizerUntil('0.13.0')],
  RLOOTrainer: [
    tokenizerUntil('0.13.0'),
    { keys: /^(?:config|policy|ref_policy|reward_model|data_collator)$/, release: '0.24.0' },
  ],
  ORPOTrainer: [tokenizerUntil('0.14.0')],
  RewardTrainer: [
    { keys: /^max_length$/, release: '0.13.0' },
    tokenizerUntil('0.14.0'),
    { keys: /^model_init$/, release: '0.23.1' },
  ],
};

/** The same of transformers' own trainer (`trainer.py` of 4.57.6: `deprecate_kwarg("tokenizer", version="5.0.0")`; 5.0.0 has none). */
const OF_TRANSFORMERS: readonly LastTaking[] = [{ keys: /^tokenizer$/, release: '4.57.6' }];

const OF_TRAINER = 'Seq2SeqTrainingArguments';

/** An argument that a release is the last to take. */
interface Limit {
  readonly field: VersionField;
  readonly release: string;
  readonly callee: string;
  readonly key: string;
  readonly keyRange: Range;
}

const nameOf = ({ callee }: PyCall) => callee.split('.').at(-1) ?? '';

/** Classes of TRL that are made for a trainer, beside those whose arguments are known; a model's and a script's inherit nothing of it. */
const MORE_CONFIGS = /^(?:BCO|NashMD|PRM|XPO)Config$/;
const NO_TRAINER = /^(?:ModelConfig|ScriptArguments)$/;

/** Whether a class takes the arguments of transformers' trainer: its own two, and those of TRL that inherit from them. Other classes have other arguments of such names. */
export function takesTrainerArguments(call: PyCall): boolean {
  const [library] = call.callee.split('.');
  const name = nameOf(call);
  if (call.subclass !== undefined) return false;
  if (library === 'transformers') return /^(?:Seq2Seq)?TrainingArguments$/.test(name);
  const isOfTrl =
    MORE_CONFIGS.test(name) || (TRL_RELEASES.tableNames.includes(name) && !NO_TRAINER.test(name));
  return library === 'trl' && isOfTrl;
}

/** The newest release of those that were looked at that has a key which later ones have not. */
function lastWith(keys: FrameworkKeys, table: string, key: string): string | undefined {
  // What a class had of its own once it may inherit since.
  const inherited = TRAINER_RELEASES[0].table(OF_TRAINER).get(key);
  const own = keys.table(table).get(key);
  const until = own === inherited || !inherited ? own?.until : undefined;
  return until === undefined ? undefined : keys.versions[keys.versions.indexOf(until) - 1];
}

type FirstReleases = Readonly<Partial<Record<string, string | Readonly<Partial<Record<string, string>>>>>>;

/** Of what older releases lack the first that has it: of all that a module or a class holds, or of a name in it (`scripts/trl-needs.py`). */
const ARGUMENTS: FirstReleases = trlNeeds.arguments;
const NAMES: FirstReleases = trlNeeds.names;

function firstWith(table: FirstReleases, owner: string, name: string): string | undefined {
  const found = Object.hasOwn(table, owner) ? table[owner] : undefined;
  if (found === undefined || typeof found === 'string') return found;
  return Object.hasOwn(found, name) ? found[name] : undefined;
}

/** The release that an import of a module of TRL needs. */
const releaseOfImport = (module: string, name: string): string | undefined =>
  firstWith(NAMES, module.slice('trl.'.length), name);

/** Notes the first releases that have all names which the text imports: the code cannot run on older ones. */
export function noteImportNeeds({ draft, program }: Calls): void {
  for (const { of, releases } of takenNames(program)) draft.need(of, releases.since?.first);
  for (const { module, names, guarded } of program.imports)
    if (!guarded && module.startsWith('trl.'))
      for (const name of names) draft.need('trl', releaseOfImport(module, name));
}

/** Notes the first releases that take all arguments of a trainer and of its config. */
export function noteNeeds(calls: Calls, trainer: PyCall, config: PyCall | undefined): void {
  const { draft, program } = calls;
  noteImportNeeds(calls);
  if (trainer.callee.startsWith('trl.'))
    for (const { key } of surelyPassed(program, trainer))
      draft.need('trl', firstWith(ARGUMENTS, nameOf(trainer), key));
  const name = config?.callee.split('.').at(-1) ?? '';
  if (!config || !takesTrainerArguments(config)) return;
  const trainers = TRAINER_RELEASES[0].table(OF_TRAINER);
  const own = config.callee.startsWith('trl.') ? TRL_RELEASES.table(name) : undefined;
  for (const { key } of surelyPassed(program, config)) {
    const value = textOf(knownNode(argumentOf(config, key)));
    if (value !== undefined) draft.need('transformers', releaseOfValue(key, value));
    const inherited = trainers.get(key);
    if (inherited) draft.need('transformers', inherited.since);
    else draft.need('trl', own?.get(key)?.since);
  }
}

/** Limits of arguments that releases dropped from a config. */
function limitsOfConfig(config: PyCall | undefined): Limit[] {
  if (!config || !/^(transformers|trl)\./.test(config.callee) || config.subclass !== undefined) return [];
  const callee = nameOf(config);
  const ofTrainer = ['version.transformers', TRAINER_RELEASES[0], OF_TRAINER] as const;
  const ofTrl = ['version.trl', TRL_RELEASES, callee] as const;
  const sources = [
    ...(takesTrainerArguments(config) ? [ofTrainer] : []),
    ...(config.callee.startsWith('trl.') ? [ofTrl] : []),
  ];
  return sources.flatMap(([field, keys, table]) =>
    config.named.flatMap(({ key, keyRange, maybe }): Limit[] => {
      const release = maybe ? undefined : lastWith(keys, table, key);
      return release === undefined ? [] : [{ field, release, callee, key, keyRange }];
    }),
  );
}

/** Limits of arguments that a trainer took once and takes no more. */
function limitsOfTrainer(call: PyCall): Limit[] {
  if (call.subclass !== undefined) return [];
  const field = isBase(call.callee) ? 'version.transformers' : 'version.trl';
  const rows = isBase(call.callee)
    ? OF_TRANSFORMERS
    : call.callee.startsWith('trl.')
      ? (OF_TRL[nameOf(call)] ?? [])
      : [];
  return rows.flatMap(({ keys, release }) =>
    call.named
      .filter(({ key, maybe }) => !maybe && keys.test(key))
      .map(({ key, keyRange }): Limit => ({ field, release, callee: nameOf(call), key, keyRange })),
  );
}

/**
 * transformers takes bits of bitsandbytes beside the model's name up to 4.57.6 (`modeling_utils.py`, `from_pretrained`); in 5.0.0 they come in
 * a config alone, and what is passed so reaches the class of the model, which has no such argument.
 */
const BITS = { keys: /^load_in_[48]bit$/, release: '4.57.6' };

/** Limits of what a model of transformers is loaded with. */
export function limitsOfLoad(call: PyCall): Limit[] {
  const [, name] = /^transformers\.(?:\w+\.)*(\w+)\.from_pretrained$/.exec(call.callee) ?? [];
  if (name === undefined || !/^AutoModel|Model$|For[A-Z]\w+$/.test(name)) return [];
  const field = 'version.transformers';
  return call.named.flatMap(({ key, keyRange }): Limit[] =>
    BITS.keys.test(key)
      ? [{ field, release: BITS.release, callee: `${name}.from_pretrained`, key, keyRange }]
      : [],
  );
}

/** Limits of a trainer's own arguments, and of those of its config. */
export const limitsOf = (call: PyCall, config: PyCall | undefined): Limit[] => [
  ...limitsOfTrainer(call),
  ...limitsOfConfig(config),
];

/** The release is at most the last that takes the argument. */
export function inferLimit(draft: Calls['draft'], { field, callee, key, keyRange, release }: Limit): void {
  const note = say('`{0}` takes `{1}` up to release {2}', callee, key, release);
  draft.infer(field, release, note, { range: keyRange }, key);
}

/** Whether a release is named; of a range the arguments may tell which of it is meant. */
const namesRelease = ({ facts }: Calls['draft'], field: VersionField): boolean =>
  facts.some(
    ({ field: of, origin }) => of === field && origin.orElse === undefined && origin.kind !== 'default',
  );

/**
 * Arguments that releases dropped tell that the file is for one that has them: the newest with all of them, whichever call they are given
 * to.
 */
export function inferVersions({ draft }: Calls, call: PyCall, config: PyCall | undefined): void {
  for (const field of ['version.transformers', 'version.trl'] as const) {
    if (namesRelease(draft, field)) continue;
    const oldest = narrowestLimit(field, call, config);
    const assumed = draft.facts.find((known) => known.field === field && known.origin.kind === 'default');
    if (!oldest || (assumed && isAtLeast(oldest.release, String(assumed.value)))) continue;
    if (assumed && assumed.origin.location === undefined) draft.forget(field);
    inferLimit(draft, oldest);
  }
}

/** The limit that leaves the oldest release. */
export const narrowestLimit = (
  field: VersionField,
  call: PyCall,
  config: PyCall | undefined,
): Limit | undefined =>
  limitsOf(call, config)
    .filter((limit) => limit.field === field)
    .reduce<Limit | undefined>(
      (kept, limit) => (kept && isAtLeast(limit.release, kept.release) ? kept : limit),
      undefined,
    );
