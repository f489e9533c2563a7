import { entryOf } from '../../config/lookup';
import { textOf } from '../../config/scalar';
import { SCRIPT_ARGUMENTS_KEYS } from '../hf/script-arguments-keys';
import { readScriptArguments } from '../hf-training-arguments';
import { Section } from '../section';
import { readTrl } from '../trl';
import { TRL_KEYS } from '../trl-keys';
import type { Launch } from './launch';
import type { Program } from './program';

const CONFIG = /\.(ya?ml|json)$/;
const METHODS = /^(sft|dpo|grpo|kto|orpo|cpo|rloo|reward|ppo)$/;

/** The config that a launch names: `--config x.yaml`, or the first word that is one. */
function linkConfig(launch: Launch, section: Section): boolean {
  if (CONFIG.test(section.text('config') ?? '')) return section.link('config', 'include');
  const words = [...launch.programNodes.slice(1), ...launch.words];
  const node = words.find((word) => CONFIG.test(textOf(word) ?? ''));
  const path = textOf(node);
  if (!node || path === undefined) return false;
  section.linkNode(path, node, 'include');
  return true;
}

/** `trl sft ...`, and TRL's and the alignment handbook's scripts under a launcher. */
export const trlProgram: Program = {
  name: 'TRL',
  keys: TRL_KEYS,
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
    if (linkConfig(launch, section)) draft.assumesNothing();
    readTrl(section, place, draft, context);
  },
};

/** Any script that takes the Trainer's arguments. */
export const hfProgram: Program = {
  name: 'HF Trainer',
  keys: [...TRL_KEYS, ...SCRIPT_ARGUMENTS_KEYS],
  match(launch) {
    const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
    if (has('per_device_train_batch_size')) return 0.7;
    return has('model_name_or_path') && (has('learning_rate') || has('gradient_accumulation_steps'))
      ? 0.6
      : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    if (linkConfig(launch, section)) draft.assumesNothing();
    readScriptArguments(section, section, draft, context);
  },
};
