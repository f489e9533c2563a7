import type { KeySpec } from '../dialect';
import { block } from '../key-rows';

const PEFT = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

/** A PEFT config as a block of a script's config. */
export const PEFT_CONFIG_KEYS: readonly KeySpec[] = [
  ...block('', PEFT, [
    ['peft_config', 'object', 'Adapter that is trained (PEFT).', { fields: ['method.kind'] }],
  ]),
  ...block('peft_config', PEFT, [
    ['peft_type', 'string', 'Kind of adapter.', { default: 'LORA', fields: ['method.kind', 'lora.kind'] }],
    ['task_type', 'string', 'Task of the model.'],
    ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, fields: ['lora.rank'] }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 8, fields: ['lora.alpha'] },
    ],
    ['lora_dropout', 'number', 'Dropout on the adapter input.', { default: 0, fields: ['lora.dropout'] }],
    [
      'target_modules',
      'any',
      'Modules that get an adapter.',
      { default: null, fields: ['lora.targets', 'lora.targetPattern'] },
    ],
    [
      'modules_to_save',
      'any',
      'Modules trained in full beside the adapters.',
      { default: null, fields: ['lora.modulesToSave'] },
    ],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, fields: ['lora.dora'] }],
    ['use_rslora', 'boolean', 'Scale by the root of the rank.', { default: false }],
    ['bias', 'string', 'Biases that are trained.', { default: 'none' }],
    [
      'num_virtual_tokens',
      'integer',
      'Trained tokens of prefix or prompt tuning.',
      { fields: ['lora.virtualTokens'] },
    ],
    ['prefix_projection', 'boolean', 'An encoder makes the prefixes.', { default: false }],
    ['encoder_hidden_size', 'integer', 'Hidden size of the encoder.', { fields: ['lora.encoderSize'] }],
    ['init_r', 'integer', 'Initial rank of AdaLoRA.', { default: 12, fields: ['lora.rank'] }],
    ['miss_dropout', 'number', 'Dropout on the input of MiSS.', { default: 0, fields: ['lora.dropout'] }],
    ['vera_dropout', 'number', 'Dropout on the input of VeRA.', { default: 0, fields: ['lora.dropout'] }],
    [
      'projection_prng_key',
      'integer',
      'Seed of the projections that all modules of VeRA share.',
      { default: 0 },
    ],
    [
      'save_projection',
      'boolean',
      'Whether checkpoints hold the projections of VeRA. They are in GPU memory either way.',
      { default: true },
    ],
    [
      'n_frequency',
      'integer',
      'Trained numbers of the spectrum of a weight (FourierFT).',
      { default: 1000, fields: ['lora.rank'] },
    ],
    ['num_vectors', 'integer', 'Vectors in the bank of VB-LoRA.', { default: 256, fields: ['lora.vectors'] }],
    [
      'vector_length',
      'integer',
      'Elements of a vector of VB-LoRA.',
      { default: 256, fields: ['lora.vectorLength'] },
    ],
    [
      'vblora_dropout',
      'number',
      'Dropout on the input of VB-LoRA.',
      { default: 0, fields: ['lora.dropout'] },
    ],
    ['oft_block_size', 'integer', 'Block size of OFT.', { default: 32, fields: ['lora.blockSize'] }],
    ['boft_block_size', 'integer', 'Block size of BOFT.', { default: 4, fields: ['lora.blockSize'] }],
    [
      'decompose_factor',
      'integer',
      'Size of the small factor of LoKr; -1: near the root.',
      { default: -1, fields: ['lora.blockSize'] },
    ],
  ]),
];
