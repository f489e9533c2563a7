import { entryOf } from '../../config/lookup';
import { flagsOf } from '../launch/launch-flags';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';

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
