import { refused } from '../../rules/rule';
import { fileIn, TORCHTITAN } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const torchtitan = (path: string) => fileIn(TORCHTITAN, `torchtitan/distributed/${path}`);

/** Rules of torchtitan. */
export const TORCHTITAN_RULES = {
  'degree-out-of-range': refused(
    'A degree of parallelism is below 1.',
    'Write at least 1, or -1 where the rest is taken.',
    torchtitan('parallel_dims.py'),
  ),
  'parallel-sizes': refused(
    'The degrees of parallelism do not multiply to the GPUs.',
    'Change one of them.',
    torchtitan('parallel_dims.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof TORCHTITAN_RULES, true> {}
}
