import type { KeySpec } from '../dialect';
import { block, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import { adapterTask } from './task-type';
import { trainedBiases } from './trained-biases';

const PEFT = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

/** A PEFT config. */
const CONFIG: readonly Row[] = [
  [
    'peft_type',
    'string',
    'Kind of adapter.',
    { default: 'LORA', fields: ['method.kind', 'lora.kind', 'features.unmodelled'] },
  ],
  [
    'task_type',
    'string',
    'Task of the model. `SEQ_CLS`, `TOKEN_CLS` and `QUESTION_ANS` train its head beside the adapters.',
    { default: null, sets: 'lora.task', means: adapterTask },
  ],
  ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, sets: 'lora.rank' }],
  [
    'lora_alpha',
    'number',
    'LoRA scaling numerator. Costs no memory.',
    { default: 8, sets: 'lora.alpha', assumes: true },
  ],
  [
    'alpha',
    'number',
    'Scaling numerator of LoHa and LoKr. Costs no memory.',
    { default: 8, sets: 'lora.alpha', assumes: true },
  ],
  [
    'lora_dropout',
    'number',
    'Dropout on the adapter input.',
    { default: 0, sets: 'lora.dropout', assumes: true },
  ],
  [
    'target_modules',
    'any',
    'Modules that get an adapter.',
    { default: null, sets: 'lora.targets', fields: ['lora.targetPattern'] },
  ],
  [
    'modules_to_save',
    'any',
    'Modules trained in full beside the adapters.',
    { default: null, sets: 'lora.modulesToSave' },
  ],
  [
    'ensure_weight_tying',
    'boolean',
    'A tied embedding and head that are both trained in full are one copy.',
    { default: false, sets: 'lora.tiesCopies' },
  ],
  ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, sets: 'lora.dora', assumes: true }],
  ['use_rslora', 'boolean', 'Scale by the root of the rank.', { default: false }],
  [
    'bias',
    'string',
    'Biases that are trained.',
    { values: ['none', 'all', 'lora_only'], default: 'none', sets: 'lora.bias', means: trainedBiases },
  ],
  ['lora_bias', 'boolean', 'The second LoRA matrix has a bias.', { default: false, sets: 'lora.ownBias' }],
  [
    'target_parameters',
    'any',
    'Parameters (not modules) that get an adapter, such as stacked experts.',
    { default: null, sets: 'lora.targetParameters', fields: ['lora.targets'] },
  ],
  [
    'exclude_modules',
    'any',
    'Modules that get no adapter though they are targets.',
    { default: null, sets: 'lora.exclude' },
  ],
  [
    'feedforward_modules',
    'any',
    'Modules of IA3 that scale their input instead of their output.',
    { default: null, sets: 'lora.feedForward' },
  ],
  [
    'layers_to_transform',
    'any',
    'Indices of the layers that get adapters.',
    { default: null, sets: 'lora.layers' },
  ],
  [
    'rank_pattern',
    'object',
    'Ranks of some modules: name or regular expression to rank.',
    { default: null, sets: 'lora.rankPattern' },
  ],
  [
    'trainable_token_indices',
    'any',
    'Rows of the token embedding that are trained beside the adapters.',
    { default: null, fields: ['lora.tokens'] },
  ],
  [
    'num_virtual_tokens',
    'integer',
    'Trained tokens of prefix or prompt tuning.',
    { sets: 'lora.virtualTokens' },
  ],
  [
    'prefix_projection',
    'boolean',
    'An encoder makes the prefixes.',
    { default: false, sets: 'lora.prefixProjection' },
  ],
  ['encoder_hidden_size', 'integer', 'Hidden size of the encoder.', { sets: 'lora.encoderSize' }],
  ['init_r', 'integer', 'Initial rank of AdaLoRA.', { default: 12, sets: 'lora.rank' }],
  [
    'miss_dropout',
    'number',
    'Dropout on the input of MiSS.',
    { default: 0, sets: 'lora.dropout', assumes: true },
  ],
  [
    'vera_dropout',
    'number',
    'Dropout on the input of VeRA.',
    { default: 0, sets: 'lora.dropout', assumes: true },
  ],
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
    { default: 1000, sets: 'lora.rank' },
  ],
  [
    'num_vectors',
    'integer',
    'Vectors in the bank of VB-LoRA.',
    { default: 256, sets: 'lora.vectors', assumes: true },
  ],
  [
    'vector_length',
    'integer',
    'Elements of a vector of VB-LoRA.',
    { default: 256, sets: 'lora.vectorLength', assumes: true },
  ],
  [
    'vblora_dropout',
    'number',
    'Dropout on the input of VB-LoRA.',
    { default: 0, sets: 'lora.dropout', assumes: true },
  ],
  ['oft_block_size', 'integer', 'Block size of OFT.', { default: 32, sets: 'lora.blockSize' }],
  ['boft_block_size', 'integer', 'Block size of BOFT.', { default: 4, sets: 'lora.blockSize' }],
  [
    'decompose_factor',
    'integer',
    'Size of the small factor of LoKr; -1: near the root.',
    { default: -1, sets: 'lora.blockSize' },
  ],
];

/** A PEFT config as a block of a script's config. */
export const PEFT_CONFIG_KEYS: readonly KeySpec[] = [
  ...block('', PEFT, [
    ['peft_config', 'object', 'Adapter that is trained (PEFT).', { fields: ['method.kind'] }],
  ]),
  ...block('peft_config', PEFT, CONFIG),
];

/** The block alone. */
export const PEFT_TABLE_KEYS: readonly KeySpec[] = block('', PEFT, CONFIG);
export const PEFT_TABLE = new KeyTable(PEFT_TABLE_KEYS, 'PEFT');
