import RELEASES from '../../../data/framework-keys/trl.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { fileIn, TRL } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { ATTENTION } from './attention';
import { adapterTask } from './task-type';
import { weightsDtypeOf } from './weights-dtype';

/** TRL's arguments as its releases have them. */
export const TRL_RELEASES = new FrameworkKeys(() => RELEASES);

const RELEASED = new ReleasedKeys([TRL_RELEASES, 'ModelConfig']);

const GUIDE = 'https://huggingface.co/docs/trl/script_utils#trl.ModelConfig';
const PEFT = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

const CONFIG = fileIn(TRL, 'trl/trainer/model_config.py');

/** Type that packed weights are stored as. */
export function storageOf(node: ConfigNode) {
  const text = textOf(node);
  return text === 'uint8' ? text : weightsDtypeOf(text);
}

/** How the model is loaded and adapted, as TRL and the scripts around it name it. */
export const MODEL_ARGUMENTS_KEYS: readonly KeySpec[] = [
  ...releasedBlock('', GUIDE, RELEASED, [
    ['model_name_or_path', 'Model on the Hugging Face Hub, or a folder that holds it.', { sets: 'model.id' }],
    [
      'dtype',
      'Type that the weights are loaded in; `auto` takes the type of the checkpoint.',
      { values: ['auto', 'bfloat16', 'float16', 'float32'], default: null, fields: ['precision.weights'] },
    ],
    [
      'torch_dtype',
      'Type that the weights are loaded in; `auto` takes the type of the checkpoint. Newer versions say `dtype`.',
      { fields: ['precision.weights'] },
    ],
    [
      'attn_implementation',
      'Attention kernel. `eager` keeps the scores of every head; the others do not.',
      ATTENTION,
    ],
    [
      'use_flash_attention_2',
      'Old way to ask for FlashAttention 2.',
      {
        type: 'boolean',
        deprecated: 'attn_implementation',
        sets: 'attention.implementation',
        spellings: { flash2: true },
      },
    ],
    [
      'load_in_8bit',
      'Load the frozen base weights in int8 (bitsandbytes).',
      { fields: ['quantization.kind'] },
    ],
    [
      'load_in_4bit',
      'Load the frozen base weights in 4 bits (bitsandbytes): QLoRA.',
      { fields: ['quantization.kind'] },
    ],
    ['bnb_4bit_quant_type', '4-bit type.', { values: ['nf4', 'fp4'], fields: ['quantization.kind'] }],
    [
      'use_bnb_nested_quant',
      'Quantize the block scales once more: 0.37 bits per weight less.',
      { sets: 'quantization.double', assumes: CONFIG },
    ],
    [
      'bnb_4bit_quant_storage',
      'Type that packed 4-bit weights are stored as; FSDP shards them only when it is that of the other weights.',
      { sets: 'quantization.storage', means: storageOf },
    ],
  ]),
  ...releasedBlock('', PEFT, RELEASED, [
    [
      'use_peft',
      'Train LoRA adapters. Without it the LoRA keys have no effect.',
      { fields: ['method.kind'] },
    ],
    ['lora_r', 'Rank of the LoRA matrices.', { sets: 'lora.rank', assumes: CONFIG }],
    [
      'lora_alpha',
      'LoRA scaling numerator. Costs no memory.',
      { type: 'number', sets: 'lora.alpha', assumes: CONFIG },
    ],
    [
      'lora_dropout',
      'Dropout on the adapter input; above 0 each adapted module keeps a mask and a dropped copy of its input.',
      { sets: 'lora.dropout', assumes: CONFIG },
    ],
    [
      'lora_target_modules',
      'Modules that get an adapter; `all-linear` for every linear layer but the head.',
      { type: 'any', sets: 'lora.targets' },
    ],
    [
      'lora_target_parameters',
      'Parameters (not modules) that get an adapter.',
      { type: 'any', sets: 'lora.targetParameters' },
    ],
    [
      'lora_modules_to_save',
      'Modules trained in full beside the adapters, as a second copy in fp32.',
      { type: 'any', sets: 'lora.modulesToSave' },
    ],
    [
      'lora_task_type',
      'Task type of the adapter. `SEQ_CLS` trains the head of a reward model beside it.',
      { sets: 'lora.task', means: adapterTask, assumes: CONFIG },
    ],
    ['use_rslora', 'Scale by the root of the rank. Costs no memory.'],
    [
      'use_dora',
      'Weight-decomposed LoRA: a magnitude vector more per module.',
      { sets: 'lora.dora', assumes: CONFIG },
    ],
  ]),
];

export const MODEL_ARGUMENTS_TABLE = new KeyTable(MODEL_ARGUMENTS_KEYS, 'TRL');
