import type { KeySpec } from '../dialect';
import { block } from '../key-rows';

const EXAMPLES = 'https://github.com/huggingface/transformers/tree/main/examples/pytorch';

/** Lengths and sizes that scripts around the Trainer ask for, by the names that they share. */
export const SCRIPT_ARGUMENTS_KEYS: readonly KeySpec[] = block('', EXAMPLES, [
  [
    'max_seq_length',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: null, fields: ['batch.sequence'] },
  ],
  [
    'max_length',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: null, fields: ['batch.sequence'] },
  ],
  [
    'block_size',
    'integer',
    'Tokens per block that texts are joined and cut into.',
    { default: null, fields: ['batch.sequence'] },
  ],
  [
    'model_max_length',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: null, fields: ['batch.sequence'] },
  ],
  ['max_source_length', 'integer', 'Tokens of the source.', { default: null, fields: ['batch.sequence'] }],
  [
    'max_target_length',
    'integer',
    'Tokens of the target.',
    { default: null, fields: ['batch.targetSequence'] },
  ],
  ['max_input_length', 'integer', 'Tokens of the input.', { fields: ['batch.sequence'] }],
  ['max_output_length', 'integer', 'Tokens of the output, behind the input.', { fields: ['batch.sequence'] }],
]);
