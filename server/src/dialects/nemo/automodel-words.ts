import { type Wish, type Words, word } from '../words';
import { LENGTH_KEYS, MACHINES_KEYS } from './automodel-keys';

/** Only where one of the keys stands in the file already: which one a data set takes hangs on its class. */
const present =
  (keys: readonly string[]) =>
  (value: number, { text }: Wish) => {
    const key = keys.find((each) => text(each) !== undefined);
    return key === undefined ? undefined : [word(key, value)];
  };

/** What the rows of Automodel do not say plainly. */
export const automodelWords: Words = {
  'batch.sequence': present(LENGTH_KEYS),
  'hardware.nodes': present(MACHINES_KEYS),
};
