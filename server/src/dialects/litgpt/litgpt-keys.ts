import RELEASES from '../../../data/framework-keys/litgpt.jsonl' with { type: 'text' };
import { fileIn, LITGPT } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, inertKeys, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { modelName } from './litgpt-names';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([
  new FrameworkKeys(() => RELEASES),
  'lora',
  'full',
  'adapter_v2',
  'pretrain',
]);

const DOCS = fileIn(LITGPT, 'tutorials/finetune_lora.md');
const ARGS = fileIn(LITGPT, 'litgpt/args.py');
const INERT = 'Setting of litgpt that costs no GPU memory.';

/** Keys of litgpt's configs. */
export const LITGPT_KEYS: readonly KeySpec[] = [
  ...releasedBlock('', DOCS, RELEASED, [
    ['checkpoint_dir', 'Folder of the base model.', { sets: 'model.id', means: modelName }],
    ['model_name', 'Architecture that is pre-trained.', { sets: 'model.id', means: modelName }],
    ['model_config', 'Architecture spelled out.', { type: 'object' }],
    [
      'precision',
      'Type of weights and products: `true` keeps weights in it, `mixed` keeps them in fp32.',
      {
        values: ['bf16-true', 'bf16-mixed', '16-true', '16-mixed', '32-true'],
        fields: ['precision.weights', 'precision.compute', 'precision.scheme', 'lora.dtype'],
      },
    ],
    [
      'quantize',
      'Quantization of the base weights while loading.',
      {
        values: ['bnb.nf4', 'bnb.nf4-dq', 'bnb.fp4', 'bnb.fp4-dq', 'bnb.int8-training'],
        sets: 'quantization.kind',
        spellings: {
          nf4: ['bnb.nf4', 'bnb.nf4-dq'],
          fp4: ['bnb.fp4', 'bnb.fp4-dq'],
          int8: 'bnb.int8-training',
        },
        fields: ['quantization.kind', 'quantization.double', 'optimizer.name'],
      },
    ],
    ['devices', 'GPUs per machine.', { fields: ['hardware.gpus'] }],
    ['num_nodes', 'Machines.', { sets: 'hardware.nodes', assumes: true }],
    ['lora_r', 'Rank of the LoRA matrices.', { sets: 'lora.rank', assumes: true }],
    [
      'lora_alpha',
      'LoRA scaling numerator. Costs no memory.',
      { type: 'number', sets: 'lora.alpha', assumes: true },
    ],
    ['lora_dropout', 'Dropout on the adapter input.', { sets: 'lora.dropout', assumes: true }],
    ['lora_query', 'Adapt the query projection.', { fields: ['lora.targets'] }],
    ['lora_key', 'Adapt the key projection.', { fields: ['lora.targets'] }],
    ['lora_value', 'Adapt the value projection.', { fields: ['lora.targets'] }],
    ['lora_projection', 'Adapt the output projection of attention.', { fields: ['lora.targets'] }],
    ['lora_mlp', 'Adapt the MLP.', { fields: ['lora.targets'] }],
    ['lora_head', 'Adapt the head.', { fields: ['lora.targets'] }],
    ['optimizer', 'Optimizer by its class.', { fields: ['optimizer.name', 'optimizer.implementation'] }],
    ['train', 'Batch, length, steps.'],
    ['eval', 'Validation.'],
    ['data', 'Data set.'],
  ]),
  ...releasedBlock('train', ARGS, RELEASED, [
    [
      'global_batch_size',
      'Samples per optimizer step over all devices; accumulation follows, rounded down.',
      { default: undefined, sets: 'batch.global', fields: ['batch.accumulation'] },
    ],
    ['micro_batch_size', 'Samples per device and forward pass.', { default: undefined, sets: 'batch.micro' }],
    [
      'max_seq_length',
      'Tokens per sample; longer ones are cut. Unset cuts nothing.',
      { sets: 'batch.sequence' },
    ],
    ['max_steps', 'Optimizer steps of the whole run.', { sets: 'schedule.steps' }],
    ['max_tokens', 'Tokens of the whole run.', { sets: 'schedule.tokens' }],
    ['tie_embeddings', 'Head and embedding share their weights.', { sets: 'model.tied' }],
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
  ...inertKeys(
    '',
    DOCS,
    INERT,
    {
      released: `out_dir access_token initial_checkpoint_dir tokenizer_dir seed resume`,
      string: `logger_name`,
      any: `log logger_args generator`,
      boolean: `override_max_seq_length initial_validation final_validation lora_enable`,
    },
    RELEASED,
  ),
  ...inertKeys(
    'train',
    ARGS,
    INERT,
    {
      released: `save_interval log_interval lr_warmup_steps epochs lr_warmup_fraction max_norm min_lr`,
      number: `learning_rate weight_decay beta1 beta2 max_additional_steps`,
      any: `max_time`,
    },
    RELEASED,
  ),
  ...inertKeys(
    'eval',
    ARGS,
    INERT,
    {
      released: `interval max_new_tokens max_iters initial_validation final_validation`,
      boolean: `evaluate_example`,
    },
    RELEASED,
  ),
];

export const LITGPT_TABLE = new KeyTable(LITGPT_KEYS, 'litgpt', RELEASED);
