import RELEASES from '../../../data/framework-keys/torchtitan.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { fileIn, TORCHTITAN } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys, type Row, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES), 'JobConfig']);

const SOURCE = fileIn(TORCHTITAN, 'torchtitan/config/job_config.py');
const INERT = 'Setting of torchtitan that costs no GPU memory.';
/** Switches of fp8 before `model.converters` had it, each in its time. */
export const FP8_SWITCHES: readonly string[] = [
  'training.enable_fp8_linear',
  'training.fp8_linear',
  'training.enable_float8_linear',
  'float8.enable_float8_linear',
];

/** Sizes of parallelism; they stood in `experimental` in 2024. */
const PARALLELISM: readonly Row[] = [
  [
    'data_parallel_replicate_degree',
    'integer',
    'Replicas of the sharded model.',
    { default: 1, sets: 'parallel.replicate', assumes: true },
  ],
  [
    'data_parallel_shard_degree',
    'integer',
    'GPUs that a shard group spans; -1: what is left.',
    { default: -1, fields: ['parallel.data'] },
  ],
  [
    'fsdp_reshard_after_forward',
    'string',
    'Free gathered weights after forward; `default` keeps them under pipelines.',
    {
      values: ['default', 'always', 'never'],
      default: 'default',
      fields: ['fsdp.strategy', 'fsdp.reshardsEnds'],
    },
  ],
  [
    'tensor_parallel_degree',
    'integer',
    'Tensor-parallel size.',
    { default: 1, sets: 'parallel.tensor', least: 1, assumes: true },
  ],
  [
    'pipeline_parallel_degree',
    'integer',
    'Pipeline-parallel size.',
    { default: 1, sets: 'parallel.pipeline', least: 1, assumes: true },
  ],
  [
    'pipeline_parallel_schedule',
    'string',
    'Pipeline schedule.',
    {
      default: '1F1B',
      sets: 'parallel.pipelineSchedule',
      spellings: {
        '1f1b': '1F1B',
        gpipe: 'GPipe',
        interleaved: 'Interleaved1F1B',
        'looped-bfs': 'LoopedBFS',
        'zero-bubble': 'InterleavedZeroBubble',
        zbv: 'ZBVZeroBubble',
        dualpipev: 'DualPipeV',
      },
    },
  ],
  [
    'pipeline_parallel_microbatch_size',
    'integer',
    'Samples of a micro batch in the pipeline.',
    { default: 1, fields: ['batch.micro'] },
  ],
  ['pipeline_parallel_layers_per_stage', 'integer', 'Layers of a pipeline stage.', { default: null }],
  [
    'context_parallel_degree',
    'integer',
    'Context-parallel size.',
    { default: 1, sets: 'parallel.context', least: 1, assumes: true },
  ],
  [
    'expert_parallel_degree',
    'integer',
    'Expert-parallel size.',
    { default: 1, sets: 'parallel.expert', least: 1, assumes: true },
  ],
  ['expert_tensor_parallel_degree', 'integer', 'Tensor-parallel size inside experts.', { default: 1 }],
  [
    'enable_async_tensor_parallel',
    'boolean',
    'Overlap the communication of tensor parallelism.',
    { default: false },
  ],
  [
    'disable_loss_parallel',
    'boolean',
    'Gather the logits of tensor-parallel ranks before the loss.',
    { default: false, fields: ['loss.implementation'] },
  ],
  [
    'context_parallel_rotate_method',
    'string',
    'How keys and values travel.',
    { values: ['allgather', 'alltoall'], default: 'allgather' },
  ],
  ['enable_compiled_autograd', 'boolean', 'Compiled autograd.', { default: false }],
];

const dtype = (node: ConfigNode) => weightsDtypeOf(textOf(node));

/** Keys of torchtitan's TOML, of 2024 to 2026. */
export const TORCHTITAN_KEYS: readonly KeySpec[] = [
  ...releasedBlock('', SOURCE, RELEASED, [
    ['job', 'The run.'],
    ['model', 'The model.'],
    ['training', 'Batch, length, precision.'],
    ['parallelism', 'Sizes of every kind of parallelism.'],
    ['activation_checkpoint', 'Activation checkpointing.'],
    ['optimizer', 'Optimizer.'],
    ['compile', 'torch.compile.'],
    ['validation', 'Validation.'],
    ['experimental', 'Parallelism of 2024, and experiments.'],
    ['float8', 'fp8 training.'],
    ['quantize', 'fp8 and MX training.'],
    ['memory_estimation', "torchtitan's own estimate."],
  ]),
  ...releasedBlock('model', SOURCE, RELEASED, [
    ['name', 'Model family.', { fields: ['model.id', 'model.config'] }],
    ['flavor', 'Size of the model.', { fields: ['model.id', 'model.config'] }],
    [
      'converters',
      'Conversions of the model, such as `float8`.',
      { default: undefined, fields: ['precision.compute', 'precision.fp8'] },
    ],
    ['hf_assets_path', 'Folder of the tokenizer and the checkpoint.', { default: undefined }],
    ['tokenizer_path', 'Tokenizer.'],
    ['norm_type', 'Norm.', { type: 'string' }],
    ['print_after_conversion', 'Print the model.', { default: undefined }],
  ]),
  ...block('training', SOURCE, [
    [
      'local_batch_size',
      'integer',
      'Samples that a data-parallel rank takes per step.',
      { default: 8, sets: 'batch.micro', assumes: true, fields: ['batch.accumulation'] },
    ],
    [
      'batch_size',
      'integer',
      'Name of `local_batch_size` before May 2025.',
      { deprecated: 'training.local_batch_size', sets: 'batch.micro' },
    ],
    [
      'global_batch_size',
      'integer',
      'Samples per optimizer step over all GPUs; -1: no accumulation.',
      { default: -1, fields: ['batch.global', 'batch.accumulation'] },
    ],
    [
      'seq_len',
      'integer',
      'Tokens per sample; rows are always full.',
      { default: 2048, sets: 'batch.sequence', assumes: true },
    ],
    [
      'dtype',
      'string',
      'Type of the sharded weights.',
      {
        values: ['float32', 'bfloat16'],
        default: 'float32',
        sets: 'precision.masterWeights',
        means: dtype,
        assumes: true,
        fields: ['precision.weights'],
      },
    ],
    [
      'mixed_precision_param',
      'string',
      'Type that FSDP gathers weights in and computes in.',
      { values: ['bfloat16', 'float32'], default: 'bfloat16', fields: ['precision.compute'] },
    ],
    [
      'mixed_precision_reduce',
      'string',
      'Type that gradients are reduced in.',
      {
        values: ['float32', 'bfloat16'],
        default: 'float32',
        sets: 'precision.reduce',
        means: dtype,
        assumes: true,
      },
    ],
    [
      'enable_cpu_offload',
      'boolean',
      'Weights, gradients and states in host memory.',
      { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    [
      'steps',
      'integer',
      'Optimizer steps of the whole run.',
      { default: 10000, sets: 'schedule.steps', assumes: true },
    ],
    [
      'compile',
      'boolean',
      'Name of `compile.enable` before 2025.',
      { deprecated: 'compile.enable', sets: 'kernels.compile' },
    ],
    [
      'tensor_parallel_degree',
      'integer',
      'Name of `parallelism.tensor_parallel_degree` in 2024.',
      { deprecated: 'parallelism.tensor_parallel_degree', sets: 'parallel.tensor', least: 1 },
    ],
    [
      'sequence_parallel_degree',
      'integer',
      'Name of `parallelism.tensor_parallel_degree` in the first releases.',
      { deprecated: 'parallelism.tensor_parallel_degree', sets: 'parallel.tensor', least: 1 },
    ],
    [
      'data_parallel_degree',
      'integer',
      'Name of `data_parallel_shard_degree` in 2024.',
      { deprecated: 'parallelism.data_parallel_shard_degree' },
    ],
    [
      'data_parallel_shard_degree',
      'integer',
      'Name of `parallelism.data_parallel_shard_degree` in 2024.',
      { deprecated: 'parallelism.data_parallel_shard_degree' },
    ],
    [
      'data_parallel_replicate_degree',
      'integer',
      'Name of `parallelism.data_parallel_replicate_degree` in 2024.',
      { deprecated: 'parallelism.data_parallel_replicate_degree', sets: 'parallel.replicate' },
    ],
    [
      'pipeline_parallel_degree',
      'integer',
      'Name of `parallelism.pipeline_parallel_degree` in 2024.',
      { deprecated: 'parallelism.pipeline_parallel_degree', sets: 'parallel.pipeline', least: 1 },
    ],
  ]),
  ...block('parallelism', SOURCE, PARALLELISM),
  ...block('experimental', SOURCE, PARALLELISM).map((row) => ({
    ...row,
    alias: row.path.replace('experimental.', 'parallelism.'),
  })),
  ...block('activation_checkpoint', SOURCE, [
    [
      'mode',
      'string',
      'Keep everything, some results, or the input of each layer only.',
      {
        values: ['none', 'selective', 'full', 'memory_budget'],
        default: 'selective',
        fields: ['activations.checkpointing'],
      },
    ],
    [
      'selective_ac_option',
      'any',
      '`op`: keep the results of every second matrix product and of attention; a number: checkpoint every n-th layer.',
      { default: '2', fields: ['activations.checkpointing'] },
    ],
    ['memory_budget', 'number', 'Share of the activations that is kept.', { default: 0.5 }],
    ['early_stop', 'boolean', 'Stop recomputation once all is there.', { default: false }],
    ['preserve_rng_state', 'boolean', 'Keep the state of the generator.'],
    ['per_op_sac_force_recompute_mm_shapes_by_fqns', 'array', 'Products that are always computed again.'],
  ]),
  ...releasedBlock('optimizer', SOURCE, RELEASED, [
    [
      'name',
      'Optimizer.',
      {
        values: ['Adam', 'AdamW'],
        sets: 'optimizer.name',
        spellings: { adamw: ['AdamW', 'Adam'] },
        assumes: true,
      },
    ],
    [
      'implementation',
      'How the step is executed.',
      {
        values: ['for-loop', 'foreach', 'fused', 'fused_opt_states_bf16'],
        fields: ['optimizer.implementation'],
      },
    ],
    [
      'fused',
      'Name of `implementation: fused` before 2025.',
      { type: 'boolean', deprecated: 'optimizer.implementation' },
    ],
    [
      'early_step_in_backward',
      'Step each weight as soon as its gradient is there.',
      { sets: 'optimizer.inBackward', assumes: true },
    ],
  ]),
  ...releasedBlock('compile', SOURCE, RELEASED, [
    ['enable', 'Compile the model and the loss.', { sets: 'kernels.compile', assumes: true }],
    ['components', 'What is compiled.', { default: null, fields: ['loss.implementation'] }],
    ['backend', 'Compiler.', { default: undefined }],
    ['model_backend_override', 'Compiler of the model.', { type: 'string' }],
  ]),
  ...releasedBlock('validation', SOURCE, RELEASED, [
    ['enable', 'Validate during training.', { sets: 'evaluation.enabled', assumes: true }],
    ['local_batch_size', 'Samples per rank of a validation batch.', { sets: 'evaluation.batch' }],
    ['seq_len', 'Tokens per sample of the validation.', { sets: 'evaluation.sequence' }],
  ]),
  ...inertKeys(
    'job',
    SOURCE,
    INERT,
    {
      released: `dump_folder description custom_config_module print_config print_args use_for_integration_test`,
      string: `custom_args_module`,
    },
    RELEASED,
  ),
  ...block('training', SOURCE, [
    [
      'fsdp_reshard_after_forward',
      'string',
      'Where it stood before it moved to `parallelism`.',
      {
        values: ['default', 'always', 'never'],
        default: 'default',
        fields: ['fsdp.strategy', 'fsdp.reshardsEnds'],
      },
    ],
  ]),
  ...block(
    '',
    SOURCE,
    FP8_SWITCHES.map(
      (path): Row => [
        path,
        'boolean',
        'fp8 products; `model.converters` has replaced it.',
        { default: false, sets: 'precision.fp8', spellings: { torchao: true, none: false } },
      ],
    ),
  ),
  ...inertKeys(
    'training',
    SOURCE,
    INERT,
    {
      released: `dataset dataset_path gc_freq seed max_norm deterministic gc_debug`,
      string: `data_parallel_type`,
      integer: `warmup_steps data_parallel_replicate world_size`,
      number: `warmup_pct checkpoint_interval classifier_free_guidance_prob`,
      boolean: `debug_moe_force_load_balance`,
      any: `checkpoint_folder checkpoint_interval_type dump_folder rank0_filter`,
    },
    RELEASED,
  ),
  ...inertKeys('optimizer', SOURCE, INERT, { released: `lr beta1 beta2 eps weight_decay` }, RELEASED),
];

export const TORCHTITAN_TABLE = new KeyTable(TORCHTITAN_KEYS, 'torchtitan', RELEASED);
