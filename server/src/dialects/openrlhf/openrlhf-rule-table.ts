import { refused } from '../../rules/rule';
import { fileIn } from '../../sources/repositories';
import { OPENRLHF } from './openrlhf-repository';

// Where the frameworks have it, at the release that is described.
const openrlhf = (path: string) => fileIn(OPENRLHF, `openrlhf/${path}`);

/** Rules of OpenRLHF. */
export const OPENRLHF_RULES = {
  'four-bit-fp16': refused(
    'OpenRLHF multiplies weights in 4 bits in bf16 only.',
    'Use bf16.',
    openrlhf('models/actor.py'),
  ),
  'ring-without-packing': refused(
    'Ring attention needs packed samples.',
    'Add `--ds.packing_samples`.',
    openrlhf('cli/train_sft.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof OPENRLHF_RULES, true> {}
}
