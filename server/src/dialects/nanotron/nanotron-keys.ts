import RELEASES from '../../../data/framework-keys/nanotron.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { switchOf, textOf } from '../../config/scalar';
import { fileIn, NANOTRON } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, inertKeys, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { mebibytes } from '../key-value';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES), 'Config']);

const SOURCE = fileIn(NANOTRON, 'src/nanotron/config/');
const INERT = 'Setting of nanotron that costs no GPU memory.';

/** Read only: files of before there were factories keep their arguments beside it. */
const optimizer = (node: ConfigNode) =>
  (['adamw', 'sgd', 'muon'] as const).find((name) => name === textOf(node)?.toLowerCase());
const implementation = (node: ConfigNode) => switchOf(node, 'fused', 'foreach');

/** Keys of nanotron's configs. */
export const NANOTRON_KEYS: readonly KeySpec[] = [
  ...block('', `${SOURCE}config.py`, [
    ['general', 'object', 'Names and seeds.'],
    ['parallelism', 'object', 'Sizes of every kind of parallelism.'],
    ['model', 'object', 'Architecture and type.'],
    ['tokens', 'object', 'Batch, length, steps.'],
    ['optimizer', 'object', 'Optimizer and ZeRO stage.'],
    ['tokenizer', 'object', 'Tokenizer.'],
    ['checkpoints', 'object', 'Checkpoints.'],
    ['logging', 'object', 'Logs.'],
    ['data', 'object', 'Data (old versions).'],
    ['data_stages', 'array', 'Data and length by stage.'],
    ['profiler', 'any', 'Profiler.'],
    ['lighteval', 'any', 'Evaluation.'],
    ['s3_upload', 'any', 'Upload.'],
    ['metrics_logging', 'any', 'Metrics.'],
    ['doremi', 'any', 'Data weighting.'],
  ]),
  ...block('parallelism', `${SOURCE}parallelism_config.py`, [
    ['dp', 'integer', 'Data-parallel size.', { fields: ['hardware.gpus'] }],
    ['pp', 'integer', 'Pipeline-parallel size.', { sets: 'parallel.pipeline', least: 1 }],
    ['tp', 'integer', 'Tensor-parallel size.', { sets: 'parallel.tensor', least: 1 }],
    [
      'context_parallel_size',
      'integer',
      'Context-parallel size.',
      { default: 1, sets: 'parallel.context', least: 1, assumes: true },
    ],
    [
      'expert_parallel_size',
      'integer',
      'Expert-parallel size.',
      { default: 1, sets: 'parallel.expert', least: 1, assumes: true },
    ],
    [
      'pp_engine',
      'string',
      'Pipeline schedule; unset, all forward passes come first.',
      {
        values: ['1f1b', 'afab'],
        default: null,
        sets: 'parallel.pipelineSchedule',
        spellings: { '1f1b': '1f1b', gpipe: 'afab' },
      },
    ],
    [
      'tp_mode',
      'string',
      '`REDUCE_SCATTER` splits norms along the sequence too.',
      {
        values: ['ALL_REDUCE', 'REDUCE_SCATTER'],
        default: null,
        sets: 'parallel.sequence',
        spellings: { true: 'REDUCE_SCATTER', false: 'ALL_REDUCE' },
        assumes: true,
      },
    ],
    [
      'recompute_layer',
      'boolean',
      'Keep the input of each layer only.',
      {
        default: false,
        sets: 'activations.checkpointing',
        spellings: { full: true, none: false },
        assumes: true,
      },
    ],
    [
      'recompute_granularity',
      'string',
      'Old name of the setting above.',
      { deprecated: 'parallelism.recompute_layer', default: null },
    ],
    [
      'tp_linear_async_communication',
      'boolean',
      'Overlap the communication of tensor parallelism.',
      { default: null },
    ],
    ['tp_recompute_allgather', 'boolean', 'Gather the sequence again in backward.', { default: true }],
    [
      'moe_layer_recompute',
      'boolean',
      'Compute expert layers again.',
      { default: false, brings: 'expert-recomputation' },
    ],
  ]),
  ...releasedBlock('tokens', `${SOURCE}config.py`, RELEASED, [
    ['sequence_length', 'Tokens per sample.', { sets: 'batch.sequence' }],
    ['micro_batch_size', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ['batch_accumulation_per_replica', 'Micro batches per optimizer step.', { sets: 'batch.accumulation' }],
    ['train_steps', 'Optimizer steps of the whole run.', { sets: 'schedule.steps' }],
    [
      'val_check_interval',
      'Steps between validations; -1: never.',
      { default: undefined, fields: ['evaluation.enabled'] },
    ],
    ['limit_val_batches', 'Batches of a validation.'],
    ['limit_test_batches', 'Batches of a test.'],
  ]),
  ...releasedBlock('optimizer', `${SOURCE}config.py`, RELEASED, [
    [
      'zero_stage',
      '1: optimizer states are sharded over data-parallel ranks.',
      { values: [0, 1], fields: ['zero.stage', 'parallel.distributedOptimizer'] },
    ],
    [
      'accumulate_grad_in_fp32',
      'Gradients are accumulated in fp32, beside those of backward.',
      { fields: ['precision.gradientAccumulation'] },
    ],
    ['optimizer_factory', 'Optimizer and its arguments.', { type: 'object', fields: ['optimizer.name'] }],
    [
      'torch_adam_is_fused',
      'Fused step.',
      {
        default: true,
        alias: 'optimizer.optimizer_factory.torch_adam_is_fused',
        sets: 'optimizer.implementation',
        means: implementation,
      },
    ],
  ]),
  ...block('optimizer.optimizer_factory', `${SOURCE}config.py`, [
    [
      'name',
      'string',
      'Optimizer.',
      {
        values: ['adamW', 'sgd', 'muon'],
        sets: 'optimizer.name',
        means: optimizer,
      },
    ],
    [
      'torch_adam_is_fused',
      'boolean',
      'Fused step.',
      {
        default: true,
        sets: 'optimizer.implementation',
        means: implementation,
        assumes: true,
      },
    ],
  ]),
  ...releasedBlock('model', `${SOURCE}config.py`, RELEASED, [
    [
      'dtype',
      'Type of the weights.',
      {
        type: 'string',
        values: ['bfloat16', 'float32', 'float16', 'double', 'fp8'],
        fields: ['precision.weights', 'precision.compute'],
      },
    ],
    [
      'model_config',
      'Architecture, with the field names of a Hugging Face `config.json`.',
      { type: 'object', fields: ['model.config'] },
    ],
    ['make_vocab_size_divisible_by', 'The vocabulary is padded to a multiple of this.'],
    ['ddp_bucket_cap_mb', 'DDP bucket size in MB.', { sets: 'ddp.bucketCap', means: mebibytes }],
    ['init_method', 'Random weights or a checkpoint.'],
  ]),
  ...inertKeys(
    'optimizer',
    `${SOURCE}config.py`,
    INERT,
    {
      released: `adam_beta1 adam_beta2 adam_eps clip_grad weight_decay`,
      any: `learning_rate_scheduler weight_decay_exclude_named_params muon_config`,
    },
    RELEASED,
  ),
];

export const NANOTRON_TABLE = new KeyTable(NANOTRON_KEYS, 'nanotron', RELEASED, true);
