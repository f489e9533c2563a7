import { isAtLeast } from '../../terms/version';
import { rejectMisfits } from '../key-check';
import { flagsOf, startedBy } from '../launch/launch-flags';
import { stateLeftAllocator } from '../launch/left-allocator';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { axolotl, readAxolotl } from './axolotl';
import { AXOLOTL_KEYS, AXOLOTL_TABLE } from './axolotl-keys';
import { checkAxolotl } from './axolotl-rules';
import { axolotlWords } from './axolotl-words';

const CLI = /^axolotl (train|finetune)$/;

/** `axolotl train x.yaml`, and its module under a launcher. */
export const axolotlProgram: Program = {
  name: 'Axolotl',
  keys: AXOLOTL_KEYS,
  words: axolotlWords,
  config: axolotl,
  match(launch) {
    const started = startedBy(launch);
    if (CLI.test(started) || /^axolotl\.cli\.train$/.test(started)) return 1;
    const config = launch.words.some(({ text }) => /\.ya?ml$/.test(text));
    return /(^|\/)scripts\/finetune\.py$/.test(started) && config ? 0.9 : 0;
  },
  read(launch, draft, context) {
    const section = flagsOf(launch, draft, AXOLOTL_TABLE);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    // With these it looks at the new variable alone, which goes before the old one (`utils/__init__.py`, `set_pytorch_cuda_alloc_conf`).
    const looksAtNew = isAtLeast(context.known['version.torch'], '2.10') === true;
    const variables = looksAtNew ? ['PYTORCH_ALLOC_CONF'] : undefined;
    stateLeftAllocator(launch, draft, CLI.test(startedBy(launch)), variables);
    readAxolotl(section, draft, context);
    if (!linked) {
      rejectMisfits(launch.arguments, AXOLOTL_TABLE, draft);
      checkAxolotl(launch.arguments, section, draft, context.model?.config);
    }
  },
};
