import { refused } from '../../rules/rule';
import { fileIn, TRLX } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const trlx = (path: string) => fileIn(TRLX, `trlx/trainer/${path}`);

/** Rules of trlX. */
export const TRLX_RULES = {
  'minibatch-does-not-divide': refused(
    '`minibatch_size` does not divide `batch_size`.',
    'Change one of them.',
    trlx('accelerate_base_trainer.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof TRLX_RULES, true> {}
}
