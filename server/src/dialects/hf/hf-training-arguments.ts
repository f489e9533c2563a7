import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf } from '../../config/scalar';
import { onDemand } from '../../memo/on-demand';
import { say } from '../../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { rejectMisfits } from '../key-check';
import { block, movedRow } from '../key-rows';
import { KeyTable } from '../key-table';
import { Section } from '../section';
import { assumeReadByAll } from './fsdp-argument';
import { trainerWords } from './hf-words';
import { launchQuestions } from './launch-question';
import { readModelArguments } from './model-arguments';
import { MODEL_ARGUMENTS_KEYS } from './model-arguments-keys';
import { assumePadding, unpaddedBy } from './padding';
import { readPeftConfig } from './peft-config';
import { PEFT_CONFIG_KEYS } from './peft-config-keys';
import { checkParsedArguments } from './released-arguments';
import { besides, leaveAdapters, readScriptAdapter } from './script-adapter';
import {
  CHECKPOINTING_SWITCHES,
  FLASH_SWITCHES,
  NAMES_OF_THE_MODEL,
  SCRIPT_ARGUMENTS_KEYS,
  SCRIPT_ARGUMENTS_TABLE,
} from './script-arguments-keys';
import { readTrainingArguments, TRAINER_DEFAULTS, type TrainerDefaults } from './training-arguments';
import { TRAINING_ARGUMENTS_KEYS, TRAINING_ARGUMENTS_TABLE } from './training-arguments-keys';
import { checkTrainingArguments } from './training-arguments-rules';

const DOCS = 'https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments';

/** The same keys below a block, for scripts that nest the arguments. */
const nested = (parent: string, keys: Dialect['keys']) =>
  keys.map((row) => movedRow(`${parent}.${row.path}`, row));

const FLAT = [...TRAINING_ARGUMENTS_KEYS, ...MODEL_ARGUMENTS_KEYS, ...SCRIPT_ARGUMENTS_KEYS];
const flat = new KeyTable([...FLAT, ...besides(FLAT)], 'Trainer', TRAINING_ARGUMENTS_TABLE.released);

/** Made for the first file that has them: every start loads this family. */
const rows = onDemand((): readonly KeySpec[] => [
  ...FLAT,
  ...block('', DOCS, [
    ['training_args', 'object', 'The arguments of the Trainer, where a script nests them.'],
  ]),
  ...nested('training_args', TRAINING_ARGUMENTS_KEYS),
  ...PEFT_CONFIG_KEYS,
]);

/** `TrainingArguments` of transformers with the arguments of the script around them: JSON or YAML, flat or nested. */
export const hfTrainingArguments: Dialect = {
  id: 'hf-training-arguments',
  name: 'HF TrainingArguments',
  ownScript: true,
  released: TRAINING_ARGUMENTS_TABLE.released,
  joins: { questions: launchQuestions },
  words: trainerWords,
  get keys() {
    return rows();
  },
  markers: /per_(?:device|gpu)_train_batch_size/,
  detect(root: ConfigNode): number {
    const own = argumentsOf(root);
    if (!own || entryOf(root, 'stage') || entryOf(root, 'base_model')) return 0;
    if (!entryOf(own, 'per_device_train_batch_size') && !entryOf(own, 'per_gpu_train_batch_size')) return 0;
    const companions = [
      'output_dir',
      'learning_rate',
      'num_train_epochs',
      'max_steps',
      'gradient_accumulation_steps',
    ];
    return companions.some((key) => entryOf(own, key)) ? 0.7 : 0;
  },
  read,
};

/** The block that holds the arguments: the file itself, or `training_args` in it. */
function argumentsOf(root: ConfigNode | null): MapNode | undefined {
  if (root?.kind !== 'map') return undefined;
  const inner = entryOf(root, 'training_args')?.value;
  return inner?.kind === 'map' ? inner : root;
}

function read(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document, context);
  const own = argumentsOf(document.root);
  const root = document.root;
  if (!own || root?.kind !== 'map') return draft.reading();
  const inner = own !== root;
  const section = new Section(own, draft, inner ? 'training_args' : '');
  readScriptArguments(section, new Section(root, draft), draft, context);
  leaveAdapters(root, draft);
  noteScript(own, draft);
  rejectMisfits(own, flat, draft);
  draft.rules(() => {
    checkTrainingArguments(own, section, flat, say('The script'), draft);
    checkParsedArguments(own, draft, { may: true });
  });
  return draft.reading();
}

/** Keys that nobody knows tell of a script whose code does more than its other arguments say; one may be a slip. */
function noteScript({ entries }: MapNode, draft: Draft): void {
  const foreign = entries.filter(({ key }) => !flat.find(key));
  const [first] = foreign;
  if (!first || foreign.length < 3) return;
  const message = say('`{0}` is an argument of a script of the project, whose code is not read.', first.key);
  draft.leave('script', { range: first.keyRange }, first.key, message);
}

/**
 * States what a script around the Trainer is given, from a file or from a command line. `whole`: why all weights are trained where nothing is
 * stated of it.
 */
export function readScriptArguments(
  section: Section,
  script: Section,
  draft: Draft,
  context: ReadContext,
  defaults: TrainerDefaults = TRAINER_DEFAULTS,
  whole = say('no flag freezes weights or makes adapters: all are assumed to be trained'),
): void {
  draft.assume('framework', 'transformers', say('arguments of the Hugging Face Trainer'));
  readOtherNames(script);
  readTrainingArguments(section, draft, context, defaults);
  readPeftConfig(script.section('peft_config'), draft);
  readScriptAdapter(script);
  readModelArguments(script, draft, context, { value: 'full', note: whole });
  assumeReadByAll(section, draft);
  readLengths(script);
  const micro = section.integer('per_device_train_batch_size') ?? defaults.micro;
  assumePadding(script, draft, micro, unpaddedBy(context.model?.config));
}

/** What scripts call otherwise than transformers, where no other meaning is possible. */
function readOtherNames(script: Section): void {
  if (!script.has('model_name_or_path')) script.by(SCRIPT_ARGUMENTS_TABLE).take(...NAMES_OF_THE_MODEL);
  const on = (keys: readonly string[]) =>
    keys.map((key) => script.find(key)).find((found) => flagOf(found?.node) === true);
  const flash = on(FLASH_SWITCHES);
  if (flash && !script.has('attn_implementation')) script.state('attention.implementation', 'flash2', flash);
  const checkpointing = on(CHECKPOINTING_SWITCHES);
  if (checkpointing && !script.has('gradient_checkpointing'))
    script.state('activations.checkpointing', 'full', checkpointing);
  const packed = on(['packing']);
  if (packed) script.state('batch.packed', true, packed);
}

/** Scripts name the length as they like; encoder-decoder scripts name two. */
function readLengths(section: Section): void {
  const script = section.by(SCRIPT_ARGUMENTS_TABLE);
  const source = script.find('max_source_length');
  if (source) {
    script.take('max_source_length', 'max_target_length');
    return;
  }
  const input = script.find('max_input_length');
  const output = script.find('max_output_length');
  const [a, b] = [integerOf(input?.node), integerOf(output?.node)];
  if (output && a !== undefined && b !== undefined) {
    script.state('batch.sequence', a + b, output, say('input and output follow each other'));
    return;
  }
  script.take(
    'max_seq_length',
    'max_length',
    'block_size',
    'model_max_length',
    'max_seq_len',
    'cutoff_len',
    'max_token_length',
  );
}
