import { entryOf } from '../../config/lookup';
import { isAtLeast } from '../../terms/version';
import type { ReadContext } from '../dialect';
import { rejectMisfits } from '../key-check';
import { NEW_VARIABLE, OLD_VARIABLES } from '../launch/allocator-environment';
import type { Launch } from '../launch/launch';
import { flagsOf, startedBy } from '../launch/launch-flags';
import { stateLeftAllocator } from '../launch/left-allocator';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { axolotl, readAxolotl } from './axolotl';
import { AXOLOTL_KEYS, AXOLOTL_TABLE } from './axolotl-keys';
import { checkAxolotl } from './axolotl-rules';
import { axolotlWords } from './axolotl-words';

const CLI = /^axolotl (train|finetune)$/;

/**
 * With these it looks at the new variable alone, which goes before the old one (`utils/__init__.py`, `set_pytorch_cuda_alloc_conf`, since
 * 0.13.1).
 */
const looksAtNew = ({ known, versions }: ReadContext): boolean =>
  isAtLeast(known['version.torch'], '2.10') === true &&
  isAtLeast(versions?.axolotl?.version, '0.13.1') !== false;

/** Its command line sets the allocator, and what another launcher starts does not. */
const setsAllocator = (launch: Launch): boolean => CLI.test(startedBy(launch));

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
  outdoesAllocator: (launch, context) =>
    setsAllocator(launch) && looksAtNew(context) && entryOf(launch.environment, NEW_VARIABLE) === undefined
      ? OLD_VARIABLES
      : [],
  read(launch, draft, context) {
    const section = flagsOf(launch, draft, AXOLOTL_TABLE);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    const variables = looksAtNew(context) ? [NEW_VARIABLE] : undefined;
    stateLeftAllocator(launch, draft, setsAllocator(launch), variables);
    readAxolotl(section, draft, context);
    if (!linked) {
      rejectMisfits(launch.arguments, AXOLOTL_TABLE, draft);
      checkAxolotl(launch.arguments, section, draft, context.model?.config);
    }
  },
};
