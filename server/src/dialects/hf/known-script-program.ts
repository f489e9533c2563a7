import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { noteTopReleases, rejectMisfits } from '../key-check';
import { KeyTable } from '../key-table';
import type { Launch } from '../launch/launch';
import type { Program } from '../launch/program';
import { linkScript } from '../launch/recipe-program';
import type { KnownParser } from '../launch/whole-flags';
import { optimizerStatements, transformersOptimizer } from '../optimizer-names';
import { type DefaultValue, Section } from '../section';
import { readScriptArguments } from './hf-training-arguments';
import { trainerWords } from './hf-words';
import type { KnownScript } from './known-script';
import { KNOWN_SCRIPT_KEYS, KNOWN_SCRIPT_TABLE } from './known-script-keys';
import { KNOWN_SCRIPTS, readKnownAdapter } from './known-scripts';
import { MODEL_ARGUMENTS_KEYS } from './model-arguments-keys';
import { hasNoTrainer, rowsOfScripts } from './no-trainer-scripts';
import { checkParsedArguments } from './released-arguments';
import { SCRIPT_ARGUMENTS_KEYS } from './script-arguments-keys';
import { SCRIPT_LENGTHS, TRAINER_DEFAULTS } from './training-arguments';
import { TRAINING_ARGUMENTS_KEYS, TRAINING_ARGUMENTS_TABLE } from './training-arguments-keys';

const named = new Set(KNOWN_SCRIPT_KEYS.map(({ path }) => path));

const KEYS = [
  ...KNOWN_SCRIPT_KEYS,
  ...[...TRAINING_ARGUMENTS_KEYS, ...MODEL_ARGUMENTS_KEYS, ...SCRIPT_ARGUMENTS_KEYS].filter(
    ({ path }) => !named.has(path),
  ),
];

const TABLE = new KeyTable(KEYS, 'Trainer', TRAINING_ARGUMENTS_TABLE.released);

function scriptOf(launch: Launch): KnownScript | undefined {
  const { script } = launch;
  if (script === undefined) return undefined;
  const has = (flag: string) => entryOf(launch.arguments, flag) !== undefined;
  const trains =
    has('per_device_train_batch_size') || has('output_dir') || has('model_name_or_path') || has('do_train');
  return trains ? KNOWN_SCRIPTS.find((known) => known.matches(script, has)) : undefined;
}

const isCopy = (launch: Launch): boolean => scriptOf(launch)?.isCommon?.(launch.script ?? '') ?? false;

/**
 * The arguments of the Trainer, and those of the example itself
 * (https://github.com/huggingface/transformers/blob/v4.57.1/examples/pytorch/language-modeling/run_clm.py).
 */
const OF_RUN_CLM: KnownParser = {
  table: new KeyTable(
    [...TRAINING_ARGUMENTS_KEYS, ...SCRIPT_ARGUMENTS_KEYS.filter(({ path }) => path === 'block_size')],
    '',
    TRAINING_ARGUMENTS_TABLE.released,
  ),
  others:
    'model_name_or_path model_type config_overrides config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token use_auth_token trust_remote_code dtype torch_dtype low_cpu_mem_usage dataset_name dataset_config_name train_file validation_file max_train_samples max_eval_samples streaming overwrite_cache validation_split_percentage preprocessing_num_workers keep_linebreaks'.split(
      ' ',
    ),
  dashes: true,
};

/** Well-known scripts around the Trainer, whose own arguments have defaults of their own. */
export const knownScriptProgram: Program = {
  name: 'a script around the Trainer',
  words: trainerWords,
  keys: KEYS,
  keysOf: rowsOfScripts(KEYS),
  maybeCopied: isCopy,
  parser: ({ script = '' }) => (/(?:^|\/)run_clm\.py$/.test(script) ? OF_RUN_CLM : undefined),
  drops: (launch) => scriptOf(launch)?.drops ?? [],
  match: (launch) => (scriptOf(launch) ? 0.8 : 0),
  read(launch, draft, context) {
    const script = scriptOf(launch);
    if (!script) return;
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`, KNOWN_SCRIPT_TABLE);
    const before = draft.facts.length;
    const own = <V>(value: V): DefaultValue<V> => ({
      value,
      note: say('default of {0}', script.name),
      source: script.source,
    });
    draft.rules(() => checkParsedArguments(launch.arguments, draft, { may: isCopy(launch) }));
    if (script.loads) section.assume('model.class', own(script.loads));
    script.read?.(section, draft, context, own);
    // Without a Trainer there is no default of it: the script makes its optimizer itself.
    if (hasNoTrainer(launch.script) && !draft.knows('optimizer.name'))
      section.assume('optimizer.name', {
        value: 'adamw',
        note: say('the script makes its optimizer itself: AdamW, as examples of transformers do'),
        source: script.source,
      });
    const { optim } = script;
    if (optim !== undefined && !section.has('optim')) {
      for (const { field, value } of optimizerStatements(transformersOptimizer(optim) ?? {}))
        section.assume(field, own(value as never), 'optim');
    }
    if (script.adapter) readKnownAdapter(section, script.adapter, own);
    const { length } = script;
    const whole = say('nothing is frozen and no adapters are made');
    const generates = ['generation_max_length', 'generation_config', ...SCRIPT_LENGTHS];
    if (length?.target !== undefined && section.flag('predict_with_generate') && !section.has(generates))
      section.assume('evaluation.generatedTokens', own(length.target));
    readScriptArguments(section, section, draft, context, { ...TRAINER_DEFAULTS, ...script.trainer }, whole);
    if (length) section.assume('batch.sequence', own(length.tokens), length.key);
    if (length?.target !== undefined) section.assume('batch.targetSequence', own(length.target));
    // A copy may have words of its own; those of the Trainer are of the same releases there.
    if (isCopy(launch)) noteTopReleases(launch.arguments, TABLE, draft);
    else rejectMisfits(launch.arguments, TABLE, draft);
    // By such a name others go, too: where the script is here, its own code counts.
    if (script.isCommon?.(launch.script ?? '')) linkScript(launch, draft, draft.facts.slice(before));
  },
};
