import { refused } from '../../rules/rule';
import { fileIn, LITGPT } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const litgpt = (path: string) => fileIn(LITGPT, `litgpt/${path}`);

/** Rules of litgpt. */
export const LITGPT_RULES = {
  'foreign-argument': refused(
    'litgpt does not take this argument here.',
    'Leave it out.',
    litgpt('finetune/full.py'),
  ),
  'quantized-mixed': refused(
    'Quantization does not work with mixed precision.',
    'Use `precision: bf16-true`.',
    litgpt('finetune/lora.py'),
  ),
  'quantized-devices': refused(
    'litgpt trains quantized models on one device only.',
    'Use one device.',
    litgpt('finetune/lora.py'),
  ),
  'quantized-optimizer': refused(
    'Quantized models are stepped by AdamW only.',
    'Use it.',
    litgpt('utils.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof LITGPT_RULES, true> {}
}
