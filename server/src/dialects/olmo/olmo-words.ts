import { oneOf, type Words, word } from '../words';

/** OLMo. */
export const olmoWords: Words = {
  'activations.checkpointing': oneOf<string>('activation_checkpointing', { full: 'whole_layer', none: null }),
  'activations.reentrant': () => [],
  'fsdp.wrap': oneOf<string>('fsdp.wrapping_strategy', { layer: 'by_block', size: 'size_based', none: null }),
  'fsdp.separateEnds': (value) => [word('fsdp.wrapping_strategy', value ? 'by_block_and_size' : 'by_block')],
  'evaluation.batch': (value) => [word('device_eval_batch_size', value)],
};
