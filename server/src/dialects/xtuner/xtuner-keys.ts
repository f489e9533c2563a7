import { fileIn, MMENGINE, XTUNER } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { ATTENTION } from '../hf/attention';
import { storageOf } from '../hf/model-arguments-keys';
import { PEFT_TABLE_KEYS } from '../hf/peft-config-keys';
import { block, inertKeys, movedRow } from '../key-rows';
import { KeyTable } from '../key-table';
import { ROUTER_LOGITS } from '../router-weight';

const MODEL = fileIn(XTUNER, 'xtuner/model/sft.py');
const DATA = fileIn(XTUNER, 'xtuner/dataset/huggingface.py');
const TRAIN = fileIn(XTUNER, 'xtuner/tools/train.py');
const BITS =
  'https://huggingface.co/docs/transformers/main_classes/quantization#transformers.BitsAndBytesConfig';
const WRAPPER = fileIn(MMENGINE, 'mmengine/optim/optimizer/optimizer_wrapper.py');
const INERT = 'Setting of XTuner that costs no GPU memory.';

/** Names of XTuner's configs, below the blocks that a runner builds. */
export const XTUNER_KEYS: readonly KeySpec[] = [
  ...block('', TRAIN, [
    [
      'sequence_parallel_size',
      'integer',
      'GPUs that share a sequence; attention has all tokens of some heads on each.',
      { default: 1, sets: 'parallel.ulysses', assumes: true },
    ],
    ['model', 'object', 'What is trained: a language model with its adapters.'],
    ['train_dataloader', 'object', 'The samples of the training, and how many make a micro batch.'],
    ['optim_wrapper', 'object', 'The optimizer, with accumulation and precision around it.'],
  ]),
  ...block('model', MODEL, [
    ['llm', 'object', 'How the language model is loaded.'],
    ['lora', 'object', 'Adapters that are trained in the place of the weights.', { fields: ['method.kind'] }],
    [
      'use_activation_checkpointing',
      'boolean',
      'Recompute the activations of each layer in the backward pass.',
      {
        default: true,
        sets: 'activations.checkpointing',
        spellings: { full: true, none: false },
        assumes: true,
      },
    ],
    [
      'use_varlen_attn',
      'boolean',
      'Tokens see those of their own sample alone, by FlashAttention 2. The micro batch is one then.',
      { default: false, fields: ['attention.implementation'] },
    ],
  ]),
  ...inertKeys('model', MODEL, INERT, { any: 'type peft_model', integer: 'max_position_embeddings' }),
  ...block('model.llm', MODEL, [
    [
      'pretrained_model_name_or_path',
      'string',
      'Model on the Hugging Face Hub, or a folder that holds it.',
      { sets: 'model.id' },
    ],
    [
      'torch_dtype',
      'any',
      'Type that the weights are loaded in. Where flash-attn is installed, XTuner sets another for most models.',
      { default: null, fields: ['precision.weights'] },
    ],
    ['attn_implementation', 'string', 'Attention kernel.', { default: null, ...ATTENTION }],
    ['quantization_config', 'object', 'How the frozen weights are quantized while loading.'],
    ['output_router_logits', 'boolean', ROUTER_LOGITS, { default: null, sets: 'loss.routerLogits' }],
    ['load_in_4bit', 'boolean', 'Load the frozen weights in 4 bits.', { fields: ['quantization.kind'] }],
    ['load_in_8bit', 'boolean', 'Load the frozen weights in int8.', { fields: ['quantization.kind'] }],
  ]),
  ...inertKeys('model.llm', MODEL, INERT, { any: 'type trust_remote_code low_cpu_mem_usage revision' }),
  ...block('model.llm.quantization_config', BITS, [
    ['load_in_4bit', 'boolean', 'Load the frozen weights in 4 bits.', { fields: ['quantization.kind'] }],
    ['load_in_8bit', 'boolean', 'Load the frozen weights in int8.', { fields: ['quantization.kind'] }],
    [
      'bnb_4bit_quant_type',
      'string',
      '4-bit type.',
      { default: 'fp4', values: ['fp4', 'nf4'], fields: ['quantization.kind'] },
    ],
    [
      'bnb_4bit_use_double_quant',
      'boolean',
      'Quantize the block scales once more: 0.37 bits per weight less.',
      { default: false, sets: 'quantization.double', assumes: BITS },
    ],
    [
      'bnb_4bit_quant_storage',
      'any',
      'Type that packed 4-bit weights are stored as.',
      { sets: 'quantization.storage', means: storageOf },
    ],
    [
      'llm_int8_skip_modules',
      'array',
      'Modules that stay in 16 bits.',
      { fields: ['quantization.skippedParts'] },
    ],
  ]),
  ...inertKeys('model.llm.quantization_config', BITS, INERT, {
    any: 'type bnb_4bit_compute_dtype llm_int8_threshold llm_int8_has_fp16_weight llm_int8_enable_fp32_cpu_offload',
  }),
  ...PEFT_TABLE_KEYS.map((row) => movedRow(`model.lora.${row.path}`, row)),
  ...inertKeys('model.lora', MODEL, INERT, { any: 'type' }),
  ...block('train_dataloader', TRAIN, [
    ['batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro', least: 1 }],
    ['dataset', 'object', 'Data set.'],
  ]),
  ...block('train_dataloader.dataset', DATA, [
    ['max_length', 'integer', 'Tokens per sample; longer ones are cut.', { sets: 'batch.sequence' }],
    [
      'packed_length',
      'integer',
      'Tokens of each row that samples are packed into.',
      { default: 8192, sets: 'batch.sequence' },
    ],
    [
      'pack_to_max_length',
      'boolean',
      'Samples are packed into rows of that many tokens.',
      { default: true, sets: 'batch.packed', assumes: DATA },
    ],
  ]),
  ...block('optim_wrapper', WRAPPER, [
    [
      'accumulative_counts',
      'integer',
      'Micro batches per optimizer step.',
      { default: 1, sets: 'batch.accumulation', assumes: WRAPPER, least: 1 },
    ],
    [
      'dtype',
      'any',
      'Type that autocast computes in; unset fp16. DeepSpeed takes no notice of it.',
      { default: null, fields: ['precision.compute'] },
    ],
    ['optimizer', 'object', 'Optimizer by its class.', { fields: ['optimizer.name'] }],
    ['type', 'any', 'Who lowers the precision.', { fields: ['precision.scheme'] }],
  ]),
  ...inertKeys('optim_wrapper', WRAPPER, INERT, { any: 'clip_grad loss_scale paramwise_cfg' }),
  ...block('optim_wrapper.optimizer', WRAPPER, [
    ['type', 'any', 'Class of the optimizer.', { fields: ['optimizer.name', 'optimizer.implementation'] }],
  ]),
];

export const XTUNER_TABLE = new KeyTable(XTUNER_KEYS, 'XTuner');
