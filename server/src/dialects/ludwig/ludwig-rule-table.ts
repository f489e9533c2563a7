import { refused } from '../../rules/rule';
import { fileIn } from '../../sources/repositories';
import { LUDWIG } from './ludwig-repository';

// Where the frameworks have it, at the release that is described.
const ludwig = (path: string) => fileIn(LUDWIG, `ludwig/${path}`);

/** Rules of Ludwig. */
export const LUDWIG_RULES = {
  'adapter-without-finetune': refused(
    'An adapter is trained with `trainer.type: finetune` only.',
    'Change the type.',
    ludwig('config_validation/checks.py'),
  ),
  'quantized-without-lora': refused(
    'Ludwig fine-tunes quantized models with LoRA only.',
    'Set `adapter.type: lora`.',
    ludwig('config_validation/checks.py'),
  ),
  'merge-into-4bit': refused(
    'An adapter cannot be merged into a 4-bit model.',
    'Quantize to 8 bits, or do not merge.',
    ludwig('config_validation/checks.py'),
  ),
  'effective-batch': refused(
    '`effective_batch_size` is not a multiple of what it is split into.',
    'Change one of them.',
    ludwig('schema/trainer.py'),
  ),
  'input-feature': refused(
    'A language model takes one input feature, of type `text`.',
    'Write one.',
    ludwig('config_validation/checks.py'),
  ),
  'output-feature': refused(
    'Fine-tuning a language model takes an output feature of type `text`.',
    'Write one.',
    ludwig('config_validation/checks.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof LUDWIG_RULES, true> {}
}
