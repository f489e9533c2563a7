import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { fileIn, TRL } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block } from '../key-rows';
import { KeyTable } from '../key-table';
import { ATTENTION } from './attention';
import { weightsDtypeOf } from './weights-dtype';

const GUIDE = 'https://huggingface.co/docs/trl/script_utils#trl.ModelConfig';
const PEFT = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

const CONFIG = fileIn(TRL, 'trl/trainer/model_config.py');

/** Type that packed weights are stored as. */
function storageOf(node: ConfigNode) {
  const text = textOf(node);
  return text === 'uint8' ? text : weightsDtypeOf(text);
}

/** How the model is loaded and adapted, as TRL and the scripts around it name it. */
export const MODEL_ARGUMENTS_KEYS: readonly KeySpec[] = [
  ...block('', GUIDE, [
    [
      'model_name_or_path',
      'string',
      'Model on the Hugging Face Hub, or a folder that holds it.',
      { default: null, sets: 'model.id' },
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
      { default: null, ...ATTENTION },
    ],
    [
      'use_flash_attention_2',
      'boolean',
      'Old way to ask for FlashAttention 2.',
      { deprecated: 'attn_implementation', sets: 'attention.implementation', spellings: { flash2: true } },
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
      { default: false, sets: 'quantization.double', assumes: CONFIG },
    ],
    [
      'bnb_4bit_quant_storage',
      'string',
      'Type that packed 4-bit weights are stored as; FSDP shards them only when it is that of the other weights.',
      { default: null, sets: 'quantization.storage', means: storageOf },
    ],
  ]),
  ...block('', PEFT, [
    [
      'use_peft',
      'boolean',
      'Train LoRA adapters. Without it the LoRA keys have no effect.',
      { default: false, fields: ['method.kind'] },
    ],
    ['lora_r', 'integer', 'Rank of the LoRA matrices.', { default: 16, sets: 'lora.rank', assumes: CONFIG }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 32, sets: 'lora.alpha', assumes: CONFIG },
    ],
    [
      'lora_dropout',
      'number',
      'Dropout on the adapter input; above 0 each adapted module keeps a mask and a dropped copy of its input.',
      { default: 0.05, sets: 'lora.dropout', assumes: CONFIG },
    ],
    [
      'lora_target_modules',
      'any',
      'Modules that get an adapter; `all-linear` for every linear layer but the head.',
      { default: null, sets: 'lora.targets' },
    ],
    ['lora_target_parameters', 'any', 'Parameters (not modules) that get an adapter.', { default: null }],
    [
      'lora_modules_to_save',
      'any',
      'Modules trained in full beside the adapters, as a second copy in fp32.',
      { default: null, sets: 'lora.modulesToSave' },
    ],
    ['lora_task_type', 'string', 'Task type of the adapter.', { default: 'CAUSAL_LM' }],
    ['use_rslora', 'boolean', 'Scale by the root of the rank. Costs no memory.', { default: false }],
    [
      'use_dora',
      'boolean',
      'Weight-decomposed LoRA: a magnitude vector more per module.',
      { default: false, sets: 'lora.dora', assumes: CONFIG },
    ],
  ]),
];

export const MODEL_ARGUMENTS_TABLE = new KeyTable(MODEL_ARGUMENTS_KEYS, 'TRL');
