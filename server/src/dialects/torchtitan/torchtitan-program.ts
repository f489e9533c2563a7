import { entryOf } from '../../config/lookup';
import { flagsOf } from '../launch/launch-flags';
import { nestedArguments } from '../launch/nested-arguments';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { readTorchtitan } from './torchtitan';
import { TORCHTITAN_KEYS, TORCHTITAN_TABLE } from './torchtitan-keys';
import { torchtitanWords } from './torchtitan-words';

/** torchtitan's `train.py` and module: `--job.config_file x.toml --training.seq_len 4096`. */
export const torchtitanProgram: Program = {
  name: 'torchtitan',
  keys: TORCHTITAN_KEYS,
  words: torchtitanWords,
  match(launch) {
    if (/^torchtitan\./.test(launch.script ?? '')) return 0.95;
    const own = ['job.config_file', 'training.local_batch_size', 'training.batch_size', 'training.seq_len'];
    return own.some((key) => entryOf(launch.arguments, key)) ? 0.9 : 0;
  },
  startsOwn: ({ script = '' }) => !/^torchtitan\.|(?:^|\/)train\.py$/.test(script),
  read(launch, draft, context) {
    const linked = flagsOf(launch, draft).link('job.config_file', 'include');
    if (linked || entryOf(launch.arguments, 'job.config_file')) draft.assumesNothing();
    const section = new Section(
      nestedArguments(launch.arguments),
      draft,
      `${launch.path}.arguments`,
      TORCHTITAN_TABLE,
    );
    readTorchtitan(section, draft, context);
  },
};
