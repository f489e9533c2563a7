import type { KeySpec } from '../dialect';
import { block } from '../key-rows';

const TRL = 'https://huggingface.co/docs/trl/script_utils#trl.ModelConfig';
const PEFT = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

/** How the model is loaded and adapted, as TRL and the scripts around it name it. */
export const MODEL_ARGUMENTS_KEYS: readonly KeySpec[] = [
  ...block('', TRL, [
    [
      'model_name_or_path',
      'string',
      'Model on the Hugging Face Hub, or a folder that holds it.',
      { default: null, fields: ['model.id'] },
    ],
    [
      'dtype',
      'string',
      'Type that the weights are loaded in; `auto` takes the type of the checkpoint.',
      { values: ['auto', 'bfloat16', 'float16', 'float32'], default: null, fields: ['precision.weights'] },
    ],
    [
      'torch_dtype',
      'string',
      'Type that the weights are loaded in; `auto` takes the type of the checkpoint. Newer versions say `dtype`.',
      { default: null, fields: ['precision.weights'] },
    ],
    [
      'attn_implementation',
      'string',
      'Attention kernel. `eager` keeps the scores of every head; the others do not.',
      { default: null, fields: ['attention.implementation'] },
    ],
    [
      'use_flash_attention_2',
      'boolean',
      'Old way to ask for FlashAttention 2.',
      { deprecated: 'attn_implementation', fields: ['attention.implementation'] },
    ],
    [
      'load_in_8bit',
      'boolean',
      'Load the frozen base weights in int8 (bitsandbytes).',
      { default: false, fields: ['quantization.kind'] },
    ],
    [
      'load_in_4bit',
      'boolean',
      'Load the frozen base weights in 4 bits (bitsandbytes): QLoRA.',
      { default: false, fields: ['quantization.kind'] },
    ],
    [
      'bnb_4bit_quant_type',
      'string',
      '4-bit type.',
      { values: ['nf4', 'fp4'], default: 'nf4', fields: ['quantization.kind'] },
    ],
    [
      'use_bnb_nested_quant',
      'boolean',
      'Quantize the block scales once more: 0.37 bits per weight less.',
      { default: false, fields: ['quantization.double'] },
    ],
    [
      'bnb_4bit_quant_storage',
      'string',
      'Type that packed 4-bit weights are stored as; FSDP shards them only when it is that of the other weights.',
      { default: null, fields: ['quantization.storage'] },
    ],
  ]),
  ...block('', PEFT, [
    [
      'use_peft',
      'boolean',
      'Train LoRA adapters. Without it the LoRA keys have no effect.',
      { default: false, fields: ['method.kind'] },
    ],
    ['lora_r', 'integer', 'Rank of the LoRA matrices.', { default: 16, fields: ['lora.rank'] }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 32, fields: ['lora.alpha'] },
    ],
    [
      'lora_dropout',
      'number',
      'Dropout on the adapter input; above 0 each adapted module keeps a mask and a dropped copy of its input.',
      { default: 0.05, fields: ['lora.dropout'] },
    ],
    [
      'lora_target_modules',
      'any',
      'Modules that get an adapter; `all-linear` for every linear layer but the head.',
      { default: null, fields: ['lora.targets'] },
    ],
    ['lora_target_parameters', 'any', 'Parameters (not modules) that get an adapter.', { default: null }],
    [
      'lora_modules_to_save',
      'any',
      'Modules trained in full beside the adapters, as a second copy in fp32.',
      { default: null, fields: ['lora.modulesToSave'] },
    ],
    ['lora_task_type', 'string', 'Task type of the adapter.', { default: 'CAUSAL_LM' }],
    ['use_rslora', 'boolean', 'Scale by the root of the rank. Costs no memory.', { default: false }],
    [
      'use_dora',
      'boolean',
      'Weight-decomposed LoRA: a magnitude vector more per module.',
      { default: false, fields: ['lora.dora'] },
    ],
  ]),
];
