import { refused } from '../../rules/rule';
import { fileIn, XTUNER } from '../../sources/repositories';

/** Rules of XTuner. */
export const XTUNER_RULES = {
  'varlen-batch': refused(
    'With `use_varlen_attn` a micro batch is one row.',
    'Set `batch_size` to 1.',
    fileIn(XTUNER, 'xtuner/tools/train.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof XTUNER_RULES, true> {}
}
