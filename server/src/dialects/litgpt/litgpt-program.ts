import { textOf } from '../../config/scalar';
import type { Launch } from '../launch/launch';
import { flagsOf } from '../launch/launch-flags';
import { linkConfig } from '../launch/linked-config';
import { nestedArguments } from '../launch/nested-arguments';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { litgpt, readLitgpt } from './litgpt';
import type { LitgptCommand } from './litgpt-command';
import { LITGPT_KEYS, LITGPT_TABLE } from './litgpt-keys';
import { litgptWords } from './litgpt-words';

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
  words: litgptWords,
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
    const section = new Section(nestedArguments(launch.arguments), draft, path, LITGPT_TABLE);
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
