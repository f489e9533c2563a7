import { flagsOf } from '../launch/launch-flags';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { ludwig } from './ludwig';
import { LUDWIG_KEYS } from './ludwig-keys';
import { ludwigWords } from './ludwig-words';

/** `ludwig train --config model.yaml --dataset data.csv`: only the config states what is trained. */
export const ludwigProgram: Program = {
  name: 'Ludwig',
  keys: LUDWIG_KEYS,
  words: ludwigWords,
  config: ludwig,
  joinsOnly: true,
  match({ program }) {
    return program[0] === 'ludwig' && /^(train|experiment)$/.test(program[1] ?? '') ? 1 : 0;
  },
  read(launch, draft) {
    linkConfig(launch, flagsOf(launch, draft), ['config', 'c']);
  },
};
