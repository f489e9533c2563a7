import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { SCRIPT_ARGUMENTS_KEYS } from '../hf/script-arguments-keys';
import { checkTrainingArguments } from '../hf/training-arguments-rules';
import { hfTrainingArguments, readScriptArguments } from '../hf-training-arguments';
import { KeyTable } from '../key-table';
import { Section } from '../section';
import { readTrl, trlRecipe } from '../trl';
import { TRL_KEYS } from '../trl-keys';
import { checkTrl } from '../trl-rules';
import { linkConfig } from './linked-config';
import { isOlmoCore } from './open-instruct-program';
import type { Program } from './program';

const table = new KeyTable([...TRL_KEYS, ...SCRIPT_ARGUMENTS_KEYS]);
const METHODS = /^(sft|dpo|grpo|kto|orpo|cpo|rloo|reward|ppo)$/;

/** `trl sft ...`, and TRL's and the alignment handbook's scripts under a launcher. */
export const trlProgram: Program = {
  name: 'TRL',
  keys: TRL_KEYS,
  config: trlRecipe,
  match(launch) {
    if (launch.program[0] === 'trl' && METHODS.test(launch.program[1] ?? '')) return 1;
    const script = launch.script ?? '';
    if (/trl[/.].*scripts[/.]|examples\/scripts\/(sft|dpo|grpo|kto|orpo|cpo)/.test(script)) return 0.9;
    const named = /(^|[/_])(run_)?(sft|dpo|orpo|grpo|simpo)(\.py)?$/.test(script);
    const recipe = launch.words.some((word) =>
      /recipes?\/|training_configs\/|config.*\.ya?ml$/.test(word.text),
    );
    return named && (recipe || entryOf(launch.arguments, 'config')) ? 0.85 : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    const place = `${launch.program.join('/')}/${launch.script ?? ''}`;
    // What the recipe says is not a default here.
    draft.assume('framework', 'trl', say('the script starts {0}', 'TRL'));
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    const method = readTrl(section, place, draft, context);
    if (!linked) checkTrl(launch.arguments, section, method, draft);
  },
};

/** Any script that takes the Trainer's arguments. */
export const hfProgram: Program = {
  name: 'HF Trainer',
  keys: [...TRL_KEYS, ...SCRIPT_ARGUMENTS_KEYS],
  config: hfTrainingArguments,
  match(launch) {
    const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
    if (isOlmoCore(launch)) return 0;
    if (has('per_device_train_batch_size')) return 0.7;
    return has('model_name_or_path') && (has('learning_rate') || has('gradient_accumulation_steps'))
      ? 0.6
      : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    readScriptArguments(section, section, draft, context);
    const trainer = section.has(['bf16', 'fp16', 'save_strategy', 'eval_strategy', 'evaluation_strategy']);
    if (!linked && trainer)
      // A script that nobody knows may well have such a flag.
      checkTrainingArguments(launch.arguments, section, table, say('The script'), draft, 'hint');
  },
};
