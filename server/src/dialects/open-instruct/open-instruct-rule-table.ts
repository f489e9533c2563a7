import { refused } from '../../rules/rule';
import { fileIn } from '../../sources/repositories';
import { OPEN_INSTRUCT } from './open-instruct-repository';

// Where the frameworks have it, at the release that is described.
const openInstruct = (path: string) => fileIn(OPEN_INSTRUCT, `open_instruct/${path}`);

/** Rules of Open Instruct. */
export const OPEN_INSTRUCT_RULES = {
  'pack-too-short': refused(
    'A packed row holds no prompt with its response.',
    'Raise `pack_length`.',
    openInstruct('data_loader.py'),
  ),
  'sequence-parallel-stage': refused(
    'Sequence parallelism needs ZeRO stage 3.',
    'Set `deepspeed_stage` to 3.',
    openInstruct('grpo_utils.py'),
  ),
  'penalty-without-reference': refused(
    'Without the reference there is no KL penalty.',
    'Set `beta` to 0.',
    openInstruct('grpo_utils.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof OPEN_INSTRUCT_RULES, true> {}
}
