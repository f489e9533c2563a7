import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { rejectMisfits } from '../key-check';
import { KeyTable } from '../key-table';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { linkScript } from '../launch/recipe-program';
import { isOlmoCore } from '../open-instruct/open-instruct-program';
import { Section } from '../section';
import { TRL_KEYS, TRL_TABLE } from '../trl/trl-keys';
import { hfTrainingArguments, readScriptArguments } from './hf-training-arguments';
import { trainerWords } from './hf-words';
import { isOfAnotherTrainer, rowsOfScripts } from './no-trainer-scripts';
import { checkParsedArguments } from './released-arguments';
import { besides, leaveAdapters } from './script-adapter';
import { NAMES_OF_THE_MODEL, SCRIPT_ARGUMENTS_KEYS } from './script-arguments-keys';
import { checkTrainingArguments } from './training-arguments-rules';

const WRITTEN = [...TRL_KEYS, ...SCRIPT_ARGUMENTS_KEYS];
const KEYS = [...WRITTEN, ...besides(WRITTEN)];
const table = new KeyTable(KEYS, 'TRL', TRL_TABLE.released);
/** Any script that takes the Trainer's arguments. */
export const hfProgram: Program = {
  name: 'HF Trainer',
  ownScript: true,
  keys: KEYS,
  keysOf: rowsOfScripts(KEYS),
  words: trainerWords,
  config: hfTrainingArguments,
  match(launch) {
    const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
    if (isOlmoCore(launch)) return 0;
    if (has('per_device_train_batch_size')) return 0.7;
    return ['model_name_or_path', ...NAMES_OF_THE_MODEL].some(has) &&
      (has('learning_rate') || has('gradient_accumulation_steps'))
      ? 0.6
      : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    const before = draft.facts.length;
    readScriptArguments(section, section, draft, context);
    // What another trainer takes where nothing is stated, its code states.
    if (isOfAnotherTrainer(launch)) draft.withdraw(draft.facts.slice(before).map(({ field }) => field));
    leaveAdapters(launch.arguments, draft, '--');
    // What the flags mean the code of the script states, where it is here and followed.
    linkScript(launch, draft, draft.facts.slice(before));
    const trainer = section.has(['bf16', 'fp16', 'save_strategy', 'eval_strategy', 'evaluation_strategy']);
    if (linked || !trainer) return;
    rejectMisfits(launch.arguments, table, draft);
    // A script that nobody knows may well have such a flag.
    checkTrainingArguments(launch.arguments, section, table, say('The script'), draft, 'hint');
    checkParsedArguments(launch.arguments, draft, { may: true });
  },
};
