import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { rejectMisfits } from '../key-check';
import type { Launch } from '../launch/launch';
import { launcherOf } from '../launch/launcher';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { OPEN_INSTRUCT_KEYS, OPEN_INSTRUCT_TABLE, readOpenInstruct } from './open-instruct';
import {
  checkOpenInstructGrpo,
  OPEN_INSTRUCT_GRPO_KEYS,
  OPEN_INSTRUCT_GRPO_TABLE,
  readOpenInstructGrpo,
} from './open-instruct-grpo';
import { openInstructWords } from './open-instruct-words';

/**
 * Trainers of open-instruct on OLMo-core, which is not modelled: their flags resemble the Trainer's and mean another engine.
 * `dpo.py` is one of them since it is no longer started by Accelerate.
 */
export function isOlmoCore(launch: Launch): boolean {
  const name = /(?:^|\/)open_instruct[/.](dpo|grpo|olmo_core_\w+)(?:\.py)?$/.exec(launch.script ?? '')?.[1];
  return name !== undefined && (name !== 'dpo' || launcherOf(launch) !== 'accelerate');
}

/** open-instruct's fine-tuning and DPO, whose training loops are its own. */
export const openInstructProgram: Program = {
  name: 'open-instruct',
  keys: OPEN_INSTRUCT_KEYS,
  words: openInstructWords,
  parser: () => ({ table: OPEN_INSTRUCT_TABLE, dashes: true }),
  match(launch) {
    const known = /(^|\/)open_instruct[/.](finetune|dpo|dpo_tune|dpo_tune_cache)(\.py)?$/;
    if (!known.test(launch.script ?? '') || isOlmoCore(launch)) return 0;
    return entryOf(launch.arguments, 'model_name_or_path') || launch.words.length > 0 ? 0.95 : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`, OPEN_INSTRUCT_TABLE);
    if (linkConfig(launch, section)) draft.assumesNothing();
    const preference = /dpo/.test(launch.script ?? '');
    const name = launch.programNodes[0];
    if (preference && name && !section.has('dpo_loss_type')) {
      draft.infer('method.objective', 'dpo', say('the script that is started'), name);
      draft.infer(
        'method.precomputedReference',
        true,
        say('log-probabilities of the reference are cached'),
        name,
      );
    }
    readOpenInstruct(section, draft, context);
  },
};

/** open-instruct's GRPO over Ray, whose arguments say which GPUs train. */
export const openInstructGrpoProgram: Program = {
  name: 'open-instruct',
  keys: OPEN_INSTRUCT_GRPO_KEYS,
  words: openInstructWords,
  countsGpus: () => true,
  match(launch) {
    const known = /(^|\/)open_instruct[/.]grpo_fast(\.py)?$/;
    return known.test(launch.script ?? '') && entryOf(launch.arguments, 'model_name_or_path') ? 0.95 : 0;
  },
  read(launch, draft, context) {
    const section = new Section(
      launch.arguments,
      draft,
      `${launch.path}.arguments`,
      OPEN_INSTRUCT_GRPO_TABLE,
    );
    readOpenInstructGrpo(section, draft, context);
    rejectMisfits(launch.arguments, OPEN_INSTRUCT_GRPO_TABLE, draft);
    checkOpenInstructGrpo(launch.arguments, section, draft);
  },
};
