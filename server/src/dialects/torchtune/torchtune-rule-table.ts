import { refused } from '../../rules/rule';
import { fileIn, TORCHTUNE } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const torchtune = (path: string) => fileIn(TORCHTUNE, `recipes/${path}`);

/** Rules of torchtune. */
export const TORCHTUNE_RULES = {
  'fp16-refused': refused(
    'torchtune trains in bf16 or fp32, not in fp16.',
    'Write one of them.',
    torchtune('full_finetune_distributed.py'),
  ),
  'in-backward-accumulation': refused(
    '`optimizer_in_bwd` excludes gradient accumulation.',
    'Leave one of them.',
    torchtune('full_finetune_distributed.py'),
  ),
  'in-backward-clipping': refused(
    '`optimizer_in_bwd` excludes `clip_grad_norm`.',
    'Leave one of them.',
    torchtune('full_finetune_distributed.py'),
  ),
  'missing-plan': refused(
    'Tensor parallelism needs a `tensor_parallel_plan`.',
    'State it.',
    torchtune('full_finetune_distributed.py'),
  ),
  'fused-tensor-parallel': refused(
    'The fused optimizer does not work with tensor parallelism.',
    'Use another one.',
    torchtune('full_finetune_distributed.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof TORCHTUNE_RULES, true> {}
}
