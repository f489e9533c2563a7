import { entryOf } from '../../config/lookup';
import { textOf } from '../../config/scalar';
import { axolotl, readAxolotl } from '../axolotl/axolotl';
import { AXOLOTL_KEYS } from '../axolotl/axolotl-keys';
import { checkAxolotl } from '../axolotl/axolotl-rules';
import type { Draft } from '../draft';
import { type LitgptCommand, litgpt, readLitgpt } from '../litgpt/litgpt';
import { LITGPT_KEYS } from '../litgpt/litgpt-keys';
import { llamaFactory, readLlamaFactory } from '../llama-factory/llama-factory';
import { LLAMA_FACTORY_KEYS } from '../llama-factory/llama-factory-keys';
import { checkLlamaFactory } from '../llama-factory/llama-factory-rules';
import { Section } from '../section';
import { readTorchtitan } from '../torchtitan/torchtitan';
import { TORCHTITAN_KEYS } from '../torchtitan/torchtitan-keys';
import { readTorchtune, torchtune } from '../torchtune/torchtune';
import { TORCHTUNE_KEYS } from '../torchtune/torchtune-keys';
import type { Launch } from './launch';
import { linkConfig } from './linked-config';
import { nestedArguments } from './nested-arguments';
import type { Program } from './program';

/** Flags of a launch, read under their own names. */
function flagsOf(launch: Launch, draft: Draft): Section {
  return new Section(launch.arguments, draft, `${launch.path}.arguments`);
}

/** What runs: the script or module of a launcher, or the program with its sub-command. */
function startedBy(launch: Launch): string {
  return launch.script ?? launch.program.slice(0, 2).join(' ');
}

/** `llamafactory-cli train`, `src/train.py`, and `src/train_bash.py` of its first years. */
export const llamaFactoryProgram: Program = {
  name: 'LLaMA-Factory',
  keys: LLAMA_FACTORY_KEYS,
  config: llamaFactory,
  match(launch) {
    const started = startedBy(launch);
    if (/^(llamafactory-cli|lmf) train$/.test(started)) return 1;
    const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
    const own = has('finetuning_type') || has('cutoff_len') || has('template');
    if (/(^|\/)train_bash\.py$/.test(started) || /llamafactory\.(launcher|train)/.test(started)) return 0.95;
    if (has('stage') && own) return 0.95;
    // The repository's own `src/train.py`, with a config.
    const config = launch.words.some(({ text }) => /\.(ya?ml|json)$/.test(text));
    return /(^|\/)src\/train\.py$/.test(started) && config ? 0.75 : 0;
  },
  read(launch, draft, context) {
    const section = flagsOf(launch, draft);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    readLlamaFactory(section, draft, context);
    if (!linked) checkLlamaFactory(launch.arguments, section, context, draft);
  },
};

/** `axolotl train x.yaml`, and its module under a launcher. */
export const axolotlProgram: Program = {
  name: 'Axolotl',
  keys: AXOLOTL_KEYS,
  config: axolotl,
  match(launch) {
    const started = startedBy(launch);
    if (/^axolotl (train|finetune)$/.test(started) || /^axolotl\.cli\.train$/.test(started)) return 1;
    const config = launch.words.some(({ text }) => /\.ya?ml$/.test(text));
    return /(^|\/)scripts\/finetune\.py$/.test(started) && config ? 0.9 : 0;
  },
  read(launch, draft, context) {
    const section = flagsOf(launch, draft);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    readAxolotl(section, draft, context);
    if (!linked) checkAxolotl(launch.arguments, section, draft);
  },
};

const RECIPES =
  /^((full|lora|qat|qat_lora|knowledge_distillation|kd|ppo_full|full_dpo|lora_dpo|dev\/\w+)_?(finetune|distillation|dpo)?(_single_device|_distributed)?(\.py)?)$/;

/** `tune run RECIPE --config NAME_OR_PATH key=value`. Configs that are named without a path are part of torchtune. */
export const torchtuneProgram: Program = {
  name: 'torchtune',
  keys: TORCHTUNE_KEYS,
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

const LITGPT_COMMANDS = {
  finetune: 'lora',
  finetune_lora: 'lora',
  finetune_adapter: 'adapter',
  finetune_adapter_v2: 'adapter_v2',
  finetune_full: 'full',
  pretrain: 'pretrain',
} as const;

/** `litgpt finetune_lora CHECKPOINT --train.micro_batch_size 4`, with or without `--config`. */
export const litgptProgram: Program = {
  name: 'litgpt',
  keys: LITGPT_KEYS,
  config: litgpt,
  countsGpus: () => true,
  match(launch) {
    return launch.program[0] === 'litgpt' && commandOf(launch) ? 1 : 0;
  },
  read(launch, draft, context) {
    const command = commandOf(launch);
    if (!command) return;
    const path = `${launch.path}.arguments`;
    if (linkConfig(launch, flagsOf(launch, draft))) draft.assumesNothing();
    const section = new Section(nestedArguments(launch.arguments), draft, path);
    const named = launch.programNodes[command.at + 1];
    const name = textOf(named);
    if (named && name !== undefined && !/^-|\.ya?ml$/.test(name))
      section.state('model.id', name.replace(/^checkpoints\//, ''), { key: path, node: named });
    readLitgpt(section, command.kind, draft, context);
  },
};

/** Old releases had `litgpt finetune lora`. */
function commandOf(launch: Launch): { readonly kind: LitgptCommand; readonly at: number } | undefined {
  const [, first = '', second = ''] = launch.program;
  const old = first === 'finetune' ? `finetune_${second}` : first;
  const kind = LITGPT_COMMANDS[old as keyof typeof LITGPT_COMMANDS] as LitgptCommand | undefined;
  if (kind && old !== first) return { kind, at: 2 };
  return kind && { kind, at: 1 };
}

/** torchtitan's `train.py` and module: `--job.config_file x.toml --training.seq_len 4096`. */
export const torchtitanProgram: Program = {
  name: 'torchtitan',
  keys: TORCHTITAN_KEYS,
  match(launch) {
    if (/^torchtitan\./.test(launch.script ?? '')) return 0.95;
    const own = ['job.config_file', 'training.local_batch_size', 'training.batch_size', 'training.seq_len'];
    return own.some((key) => entryOf(launch.arguments, key)) ? 0.9 : 0;
  },
  read(launch, draft, context) {
    const linked = flagsOf(launch, draft).link('job.config_file', 'include');
    if (linked || entryOf(launch.arguments, 'job.config_file')) draft.assumesNothing();
    const section = new Section(nestedArguments(launch.arguments), draft, `${launch.path}.arguments`);
    readTorchtitan(section, draft, context);
  },
};

/** nanotron's `run_train.py`, which takes all from a config. */
export const nanotronProgram: Program = {
  name: 'nanotron',
  keys: [],
  match(launch) {
    const script = launch.script ?? '';
    const named = entryOf(launch.arguments, 'config_file') !== undefined;
    return /(^|\/)run_train\.py$/.test(script) && named ? 0.8 : 0;
  },
  read(launch, draft) {
    linkConfig(launch, flagsOf(launch, draft), ['config_file', 'config']);
    draft.assumesNothing();
  },
};
