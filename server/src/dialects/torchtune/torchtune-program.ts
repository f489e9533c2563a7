import { textOf } from '../../config/scalar';
import type { Launch } from '../launch/launch';
import { flagsOf } from '../launch/launch-flags';
import { nestedArguments } from '../launch/nested-arguments';
import type { Program } from '../launch/program';
import { readTorchtune, torchtune } from './torchtune';
import { TORCHTUNE_KEYS } from './torchtune-keys';
import { torchtuneWords } from './torchtune-words';

const RECIPES =
  /^((full|lora|qat|qat_lora|knowledge_distillation|kd|ppo_full|full_dpo|lora_dpo|dev\/\w+)_?(finetune|distillation|dpo)?(_single_device|_distributed)?(\.py)?)$/;

/** `tune run RECIPE --config NAME_OR_PATH key=value`. Configs that are named without a path are part of torchtune. */
export const torchtuneProgram: Program = {
  name: 'torchtune',
  keys: TORCHTUNE_KEYS,
  words: torchtuneWords,
  config: torchtune,
  match(launch) {
    if (launch.program[0] !== 'tune' || launch.program[1] !== 'run') return 0;
    const recipe = recipeOf(launch);
    return /eval|generat|quantiz|inference/.test(recipe) ? 0 : 1;
  },
  read(launch, draft, context) {
    const section = flagsOf(launch, draft);
    const config = section.find('config');
    const name = textOf(config?.node);
    if (config && name !== undefined && !/\.ya?ml$/.test(name) && !/[$`]/.test(name)) {
      const path = `recipes/configs/${name}.yaml`;
      draft.links.push({ path, range: config.node.range, key: config.key, role: 'include', optional: true });
    } else section.link('config', 'include');
    draft.assumesNothing();
    readTorchtune(nestedArguments(launch.arguments), `${recipeOf(launch)}.yaml`, draft, context);
  },
};

function recipeOf(launch: Launch): string {
  const words = [...launch.program.slice(2), ...launch.words.map(({ text }) => text), launch.script ?? ''];
  return (
    words.find((word) => RECIPES.test(word) || /_(single_device|distributed)$/.test(word)) ?? words[0] ?? ''
  );
}
