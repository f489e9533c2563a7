import { fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, inertKeys, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import { LLAVA } from './hugging-face-repository';
import { SCRIPT_ARGUMENTS_KEYS } from './script-arguments-keys';

const SOURCE = fileIn(LLAVA, 'llava/train/train.py');

/** Names by which scripts ask what is trained in a word: `full`, `lora`, `qlora`. */
export const SCRIPT_MODES = ['train_mode', 'train_type', 'finetuning_type', 'tuning_type', 'peft_method'];

/** Adapters and quantized weights by the names that scripts around the Trainer share. */
export const SCRIPT_ADAPTER_KEYS: readonly KeySpec[] = block('', SOURCE, [
  ['lora_enable', 'boolean', 'Train LoRA adapters.', { default: false, fields: ['method.kind'] }],
  ['use_lora', 'boolean', 'Train LoRA adapters.', { default: false, fields: ['method.kind'] }],
  ['q_lora', 'boolean', 'LoRA over a base in 4 bits.', { default: false, fields: ['quantization.kind'] }],
  [
    'use_llm_lora',
    'integer',
    'Rank of LoRA in the language model; 0 is none.',
    { default: 0, sets: 'lora.rank', fields: ['lora.rank', 'method.kind'] },
  ],
  ['lora_r', 'integer', 'Rank of the LoRA matrices.', { default: 64, sets: 'lora.rank' }],
  ['lora_rank', 'integer', 'Rank of the LoRA matrices.', { default: 64, sets: 'lora.rank', alias: 'lora_r' }],
  ['lora_alpha', 'number', 'LoRA scaling numerator. Costs no memory.', { default: 16, sets: 'lora.alpha' }],
  ['lora_dropout', 'number', 'Dropout on the adapter input.', { sets: 'lora.dropout' }],
  [
    'bits',
    'integer',
    'Bits of the frozen base weights.',
    { values: [4, 8, 16], fields: ['quantization.kind'] },
  ],
  [
    'double_quant',
    'boolean',
    'Quantize the block scales once more.',
    { default: true, sets: 'quantization.double' },
  ],
  [
    'quant_type',
    'string',
    '4-bit type.',
    { values: ['fp4', 'nf4'], default: 'nf4', fields: ['quantization.kind'] },
  ],
  ...SCRIPT_MODES.map(
    (name): Row => [
      name,
      'string',
      'What is trained: all weights, adapters, adapters over quantized weights.',
      { fields: ['method.kind', 'quantization.kind'] },
    ],
  ),
]);

const READ_KEYS = block('', SOURCE, [
  [
    'tune_mm_mlp_adapter',
    'boolean',
    'Train the projector only.',
    { default: false, fields: ['method.trainable'] },
  ],
  [
    'freeze_llm',
    'boolean',
    'The language model is not trained.',
    { default: false, fields: ['method.trainable'] },
  ],
  [
    'vision_tower',
    'string',
    'Vision encoder before the language model.',
    { fields: ['model.id', 'method.trainable'] },
  ],
  [
    'mm_projector_type',
    'string',
    'Layers between vision encoder and language model.',
    { fields: ['model.id'] },
  ],
  ['freeze_mm_mlp_adapter', 'boolean', 'The projector is not trained.', { fields: ['method.trainable'] }],
  [
    'low_rank_training',
    'boolean',
    'LoRA on the attention, with embedding and norms trained.',
    { default: true, fields: ['method.kind'] },
  ],
  ['use_flash_attn', 'boolean', 'FlashAttention 2.', { default: true, fields: ['attention.implementation'] }],
  [
    'trainable_params',
    'string',
    'Parameters that are trained beside the adapters.',
    { fields: ['lora.modulesToSave'] },
  ],
  ['freeze_vision_tower', 'boolean', 'The vision tower is not trained.', { fields: ['method.trainable'] }],
  ['source_max_len', 'integer', 'Tokens of the source.', { default: 1024, fields: ['batch.sequence'] }],
  [
    'target_max_len',
    'integer',
    'Tokens of the target, behind the source.',
    { default: 256, fields: ['batch.sequence'] },
  ],
  [
    'grad_checkpoint',
    'boolean',
    'Activation checkpointing.',
    { default: true, sets: 'activations.checkpointing', spellings: { full: true, none: false } },
  ],
  ['use_dora', 'boolean', 'Train DoRA adapters.', { default: false, fields: ['lora.dora', 'method.kind'] }],
  [
    'use_qlora',
    'boolean',
    'LoRA over quantized weights.',
    { default: false, fields: ['quantization.kind', 'quantization.prepared'] },
  ],
  ['quant_bit', 'integer', 'Bits of the quantized weights.', { default: 4, fields: ['quantization.kind'] }],
  [
    'use_lisa',
    'boolean',
    'LISA: a few layers are trained at a time.',
    { default: false, fields: ['method.kind'] },
  ],
  [
    'lisa_activated_layers',
    'integer',
    'Layers that are trained at a time.',
    { default: 2, sets: 'method.trainableLayers' },
  ],
  [
    'lisa_interval_steps',
    'integer',
    'Steps after which other layers are drawn.',
    { default: 20, sets: 'method.switchSteps' },
  ],
  [
    'disable_group_texts',
    'boolean',
    'Samples are cut or padded to the block, each by itself.',
    { default: true, fields: ['batch.packed'] },
  ],
  ['model_id', 'string', 'Model on the Hub, or a folder.', { fields: ['model.id'] }],
  ['use_liger', 'boolean', 'Liger kernels.', { default: true, sets: 'kernels.liger' }],
]);
/** Arguments of published scripts beside those of the Trainer. */
export const KNOWN_SCRIPT_KEYS: readonly KeySpec[] = [
  ...SCRIPT_ADAPTER_KEYS,
  ...READ_KEYS,
  ...inertKeys('', SOURCE, 'Setting of the script that costs no GPU memory.', {
    any: `pretrain_mm_mlp_adapter group_by_modality_length mm_vision_select_layer mm_vision_select_feature mm_use_im_start_end
      mm_use_im_patch_token mm_patch_merge_type mm_projector_lr image_aspect_ratio image_folder image_grid_pinpoints lazy_preprocess version
      conversation_template dataset_path validation_split_percentage save_aggregated_lora use_ram_optimized_load
      truncate_to_model_max_length lisa_layers_attribute train_on_prompt group_texts_batch_size`,
  }),
];

/** Further names of what scripts around the Trainer take, too general to be offered for any of them. */
const OTHER_NAMES = block('', SOURCE, [
  ['max_prompt_length', 'integer', 'Tokens of the prompt.', { sets: 'batch.sequence' }],
  [
    'use_nested_quant',
    'boolean',
    'Quantize the block scales once more.',
    { sets: 'quantization.double', alias: 'double_quant' },
  ],
  [
    'lora_target_modules',
    'any',
    'Modules that get an adapter; `all-linear` for every linear layer but the head.',
    { sets: 'lora.targets' },
  ],
  [
    'target_modules',
    'any',
    'Modules that get an adapter; `all-linear` for every linear layer but the head.',
    { sets: 'lora.targets', alias: 'lora_target_modules' },
  ],
]);

/** What published scripts are read by. */
export const KNOWN_SCRIPT_TABLE = new KeyTable([
  ...KNOWN_SCRIPT_KEYS,
  ...OTHER_NAMES,
  ...SCRIPT_ARGUMENTS_KEYS.filter(({ path }) => !KNOWN_SCRIPT_KEYS.some((row) => row.path === path)),
]);
