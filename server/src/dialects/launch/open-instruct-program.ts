import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { OPEN_INSTRUCT_KEYS, readOpenInstruct } from '../open-instruct';
import { Section } from '../section';
import { linkConfig } from './linked-config';
import type { Program } from './program';

/** open-instruct's fine-tuning and DPO, whose training loops are its own. */
export const openInstructProgram: Program = {
  name: 'open-instruct',
  keys: OPEN_INSTRUCT_KEYS,
  match(launch) {
    const known = /(^|\/)open_instruct[/.](finetune|dpo|dpo_tune|dpo_tune_cache)(\.py)?$/;
    if (!known.test(launch.script ?? '')) return 0;
    return entryOf(launch.arguments, 'model_name_or_path') || launch.words.length > 0 ? 0.95 : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
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
