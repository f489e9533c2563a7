import { type Words, word } from '../words';

/** nanotron. */
export const nanotronWords: Words = {
  'zero.stage': (value) => (value <= 1 ? [word('optimizer.zero_stage', value)] : undefined),
};
