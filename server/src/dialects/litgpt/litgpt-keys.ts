import RELEASES from '../../../data/framework-keys/litgpt.jsonl' with { type: 'text' };
import { fileIn, LITGPT } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';
import { modelName } from './litgpt-names';

const DOCS = fileIn(LITGPT, 'tutorials/finetune_lora.md');
const ARGS = fileIn(LITGPT, 'litgpt/args.py');
const SILENT = 'Setting of litgpt that costs no GPU memory.';

/** Keys of litgpt's configs. */
export const LITGPT_KEYS: readonly KeySpec[] = [
  ...block('', DOCS, [
    ['checkpoint_dir', 'string', 'Folder of the base model.', { sets: 'model.id', means: modelName }],
    ['model_name', 'string', 'Architecture that is pre-trained.', { sets: 'model.id', means: modelName }],
    ['model_config', 'object', 'Architecture spelled out.', { default: null }],
    [
      'precision',
      'string',
      'Type of weights and products: `true` keeps weights in it, `mixed` keeps them in fp32.',
      {
        values: ['bf16-true', 'bf16-mixed', '16-true', '16-mixed', '32-true'],
        default: null,
        fields: ['precision.weights', 'precision.compute', 'precision.scheme', 'lora.dtype'],
      },
    ],
    [
      'quantize',
      'string',
      'Quantization of the base weights while loading.',
      {
        values: ['bnb.nf4', 'bnb.nf4-dq', 'bnb.fp4', 'bnb.fp4-dq', 'bnb.int8-training'],
        default: null,
        sets: 'quantization.kind',
        spellings: {
          nf4: ['bnb.nf4', 'bnb.nf4-dq'],
          fp4: ['bnb.fp4', 'bnb.fp4-dq'],
          int8: 'bnb.int8-training',
        },
        fields: ['quantization.kind', 'quantization.double', 'optimizer.name'],
      },
    ],
    ['devices', 'any', 'GPUs per machine.', { default: 1, fields: ['hardware.gpus'] }],
    ['num_nodes', 'integer', 'Machines.', { default: 1, sets: 'hardware.nodes', assumes: true }],
    ['lora_r', 'integer', 'Rank of the LoRA matrices.', { default: 8, sets: 'lora.rank', assumes: true }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 16, sets: 'lora.alpha', assumes: true },
    ],
    [
      'lora_dropout',
      'number',
      'Dropout on the adapter input.',
      { default: 0.05, sets: 'lora.dropout', assumes: true },
    ],
    ['lora_query', 'boolean', 'Adapt the query projection.', { default: true, fields: ['lora.targets'] }],
    ['lora_key', 'boolean', 'Adapt the key projection.', { default: false, fields: ['lora.targets'] }],
    ['lora_value', 'boolean', 'Adapt the value projection.', { default: true, fields: ['lora.targets'] }],
    [
      'lora_projection',
      'boolean',
      'Adapt the output projection of attention.',
      { default: false, fields: ['lora.targets'] },
    ],
    ['lora_mlp', 'boolean', 'Adapt the MLP.', { default: false, fields: ['lora.targets'] }],
    ['lora_head', 'boolean', 'Adapt the head.', { default: false, fields: ['lora.targets'] }],
    [
      'optimizer',
      'any',
      'Optimizer by its class.',
      { default: 'AdamW', fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
    ['train', 'object', 'Batch, length, steps.'],
    ['eval', 'object', 'Validation.'],
    ['data', 'any', 'Data set.'],
  ]),
  ...block('train', ARGS, [
    [
      'global_batch_size',
      'integer',
      'Samples per optimizer step over all devices; accumulation follows, rounded down.',
      { sets: 'batch.global', fields: ['batch.accumulation'] },
    ],
    ['micro_batch_size', 'integer', 'Samples per device and forward pass.', { sets: 'batch.micro' }],
    [
      'max_seq_length',
      'integer',
      'Tokens per sample; longer ones are cut. Unset cuts nothing.',
      { default: null, sets: 'batch.sequence' },
    ],
    ['max_steps', 'integer', 'Optimizer steps of the whole run.', { default: null, sets: 'schedule.steps' }],
    ['max_tokens', 'integer', 'Tokens of the whole run.', { default: null, sets: 'schedule.tokens' }],
    [
      'tie_embeddings',
      'boolean',
      'Head and embedding share their weights.',
      { default: null, sets: 'model.tied' },
    ],
  ]),
  ...block('optimizer', DOCS, [
    [
      'class_path',
      'string',
      'Class of the optimizer.',
      { default: 'torch.optim.AdamW', fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
    ['init_args', 'object', 'Its arguments.', { default: null }],
  ]),
  ...inertKeys('', DOCS, SILENT, {
    string: 'out_dir logger_name access_token initial_checkpoint_dir tokenizer_dir',
    integer: 'seed',
    any: 'resume log logger_args generator',
    boolean: 'override_max_seq_length initial_validation final_validation lora_enable',
  }),
  ...inertKeys('train', ARGS, SILENT, {
    integer: 'save_interval log_interval lr_warmup_steps epochs',
    number: 'lr_warmup_fraction max_norm min_lr learning_rate weight_decay beta1 beta2 max_additional_steps',
    any: 'max_time',
  }),
  ...inertKeys('eval', ARGS, SILENT, {
    integer: 'interval max_new_tokens max_iters',
    boolean: 'initial_validation final_validation evaluate_example',
  }),
];

export const LITGPT_TABLE = new KeyTable(
  LITGPT_KEYS,
  'litgpt',
  new ReleasedKeys([new FrameworkKeys(RELEASES), 'lora', 'full', 'adapter_v2', 'pretrain']),
);
