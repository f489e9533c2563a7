import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, type Row } from '../key-rows';
import { KeyTable } from '../key-table';

const EXAMPLES = fileIn(TRANSFORMERS, 'examples/pytorch');

/** Other names of `model_name_or_path` in scripts of people's own. */
export const NAMES_OF_THE_MODEL = [
  'model_name',
  'model_id',
  'model_path',
  'base_model',
  'base_model_name',
  'pretrained_model_name_or_path',
];
/** Other names of `attn_implementation flash_attention_2`. */
export const FLASH_SWITCHES = ['use_flash_attn', 'use_flash_attn_2', 'use_flash_attention', 'flash_attn'];
/** Other names of `gradient_checkpointing`, beside those of `TrainingArguments`. */
export const CHECKPOINTING_SWITCHES = ['use_gradient_checkpointing', 'grad_checkpointing'];

/** Lengths and sizes that scripts around the Trainer ask for, by the names that they share. */
export const SCRIPT_ARGUMENTS_KEYS: readonly KeySpec[] = block('', EXAMPLES, [
  [
    'max_seq_length',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: null, sets: 'batch.sequence' },
  ],
  [
    'max_length',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: null, sets: 'batch.sequence' },
  ],
  [
    'block_size',
    'integer',
    'Tokens per block that texts are joined and cut into.',
    { default: null, sets: 'batch.sequence' },
  ],
  [
    'model_max_length',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: null, sets: 'batch.sequence' },
  ],
  ['max_source_length', 'integer', 'Tokens of the source.', { default: null, sets: 'batch.sequence' }],
  ['max_target_length', 'integer', 'Tokens of the target.', { default: null, sets: 'batch.targetSequence' }],
  ['max_input_length', 'integer', 'Tokens of the input.', { fields: ['batch.sequence'] }],
  ['max_output_length', 'integer', 'Tokens of the output, behind the input.', { fields: ['batch.sequence'] }],
  ...NAMES_OF_THE_MODEL.map(
    (name): Row => [name, 'string', 'Model on the Hub, or a folder.', { sets: 'model.id' }],
  ),
  ...FLASH_SWITCHES.map(
    (name): Row => [name, 'boolean', 'FlashAttention 2.', { fields: ['attention.implementation'] }],
  ),
  ...CHECKPOINTING_SWITCHES.map(
    (name): Row => [name, 'boolean', 'Activation checkpointing.', { fields: ['activations.checkpointing'] }],
  ),
]);

/** Names of the length that are read wherever they stand, and offered nowhere. */
const OTHER_LENGTHS = block('', EXAMPLES, [
  ['max_seq_len', 'integer', 'Tokens per sample; longer ones are cut.', { sets: 'batch.sequence' }],
  ['max_token_length', 'integer', 'Tokens per sample; longer ones are cut.', { sets: 'batch.sequence' }],
  ['cutoff_len', 'integer', 'Tokens per sample; longer ones are cut.', { sets: 'batch.sequence' }],
  [
    'val_max_target_length',
    'integer',
    'Tokens of the target.',
    { sets: 'batch.targetSequence', alias: 'max_target_length' },
  ],
]);

export const SCRIPT_ARGUMENTS_TABLE = new KeyTable([...SCRIPT_ARGUMENTS_KEYS, ...OTHER_LENGTHS]);
