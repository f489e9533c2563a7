import RELEASES from '../../../data/framework-keys/deepspeed.jsonl' with { type: 'text' };
import { DEEPSPEED, fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, type Row, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { dtypeOf } from './deepspeed-dtype';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)]);

const DOCS = 'https://www.deepspeed.ai/docs/config-json/';
const SOURCE = fileIn(DEEPSPEED, 'deepspeed/');

const batch = block('', `${DOCS}#batch-size-related-parameters`, [
  [
    'train_batch_size',
    'integer',
    'Samples per optimizer step over all GPUs. Must equal `train_micro_batch_size_per_gpu` × `gradient_accumulation_steps` × data-parallel GPUs; left out, DeepSpeed derives it.',
    { auto: true, default: null, sets: 'batch.global' },
  ],
  [
    'train_micro_batch_size_per_gpu',
    'integer',
    'Samples per GPU and forward pass: the batch that decides how much memory activations take.',
    { auto: true, default: null, sets: 'batch.micro' },
  ],
  [
    'gradient_accumulation_steps',
    'integer',
    'Forward and backward passes per optimizer step. Costs next to no memory; 1 when it cannot be derived.',
    { auto: true, default: null, sets: 'batch.accumulation' },
  ],
]);

const optimizer = [
  ...block('', `${DOCS}#optimizer-parameters`, [
    [
      'optimizer',
      'object',
      'Optimizer that DeepSpeed builds. Without it, the caller passes one in.',
      {
        fields: ['optimizer.name'],
      },
    ],
    [
      'zero_allow_untested_optimizer',
      'boolean',
      'Accept an optimizer that DeepSpeed has not tested together with ZeRO.',
      { default: false },
    ],
    [
      'zero_force_ds_cpu_optimizer',
      'boolean',
      "Insist on DeepSpeed's own CPU optimizer when optimizer states are offloaded; other optimizers are refused.",
      { default: true },
    ],
  ]),
  ...block('optimizer', `${DOCS}#optimizer-parameters`, [
    [
      'type',
      'string',
      "DeepSpeed's own optimizers in any case (`Adam`, `AdamW`, `Lamb`, `Lion`, `Muon`, `Adagrad`, ...), or the exact name of a class in `torch.optim`.",
      { default: null, fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
    ['params', 'object', 'Arguments of the optimizer, as its constructor names them.'],
    ['legacy_fusion', 'boolean', 'Old fused update of 1-bit optimizers.', { default: false }],
  ]),
  ...block('optimizer.params', `${DOCS}#optimizer-parameters`, [
    ['lr', 'number', 'Learning rate.', { auto: true }],
    ['betas', 'any', 'Decay rates of the two Adam moments.', { auto: true }],
    ['eps', 'number', 'Added to the denominator.', { auto: true }],
    ['weight_decay', 'number', 'Weight decay.', { auto: true }],
    ['momentum', 'number', 'Momentum; above 0, SGD keeps one state per weight.'],
    ['freeze_step', 'integer', 'Steps before a 1-bit optimizer compresses what it exchanges.'],
    ['var_freeze_step', 'integer', 'Steps before 0/1 Adam keeps its variance as it is.'],
    [
      'torch_adam',
      'boolean',
      "Use PyTorch's Adam instead of the fused one; its foreach step needs a temporary copy of the weights.",
      { default: false, fields: ['optimizer.implementation'] },
    ],
    ['adam_w_mode', 'boolean', 'Decoupled weight decay (AdamW) also for type `Adam`.', { default: true }],
    [
      'fp32_optimizer_states',
      'boolean',
      'Keep the states of the CPU Adam in fp32.',
      { default: true, fields: ['precision.optimizerStates'] },
    ],
    [
      'max_grad_norm',
      'number',
      'Not accepted: DeepSpeed clips gradients by the top-level `gradient_clipping`.',
      { deprecated: 'gradient_clipping' },
    ],
  ]),
];

const scheduler = [
  ...block('', `${DOCS}#scheduler-parameters`, [
    ['scheduler', 'object', 'Learning rate schedule that DeepSpeed builds.'],
  ]),
  ...block('scheduler', `${DOCS}#scheduler-parameters`, [
    [
      'type',
      'string',
      'Schedule: `WarmupLR`, `WarmupDecayLR`, `WarmupCosineLR`, `OneCycle` or `LRRangeTest`.',
    ],
    ['params', 'object', 'Arguments of the schedule.'],
  ]),
  ...block('scheduler.params', `${DOCS}#scheduler-parameters`, [
    ['warmup_min_lr', 'number', 'Learning rate at the start of the warmup.', { auto: true }],
    ['warmup_max_lr', 'number', 'Learning rate at the end of the warmup.', { auto: true }],
    ['warmup_num_steps', 'integer', 'Optimizer steps of warmup.', { auto: true }],
    [
      'total_num_steps',
      'integer',
      'Optimizer steps of the whole run.',
      { auto: true, sets: 'schedule.steps' },
    ],
  ]),
];

const communication = block('', `${DOCS}#communication-options`, [
  [
    'communication_data_type',
    'string',
    'Type in which gradients are reduced between GPUs. Unset: the type of the gradients.',
    { values: ['fp16', 'bf16', 'fp32'], default: null, sets: 'precision.reduce', means: dtypeOf },
  ],
  [
    'seq_parallel_communication_data_type',
    'string',
    'Type in which gradients are reduced over sequence-parallel GPUs.',
    { values: ['fp16', 'bf16', 'fp32'], default: 'fp32', sets: 'zero.sequenceReduce', means: dtypeOf },
  ],
  ['prescale_gradients', 'boolean', 'Divide gradients before they are reduced.', { default: false }],
  ['gradient_predivide_factor', 'number', 'Divisor before the reduction.', { default: 1 }],
  [
    'gradient_allreduce_op',
    'string',
    'Mean or sum over data-parallel GPUs.',
    { values: ['mean', 'sum'], default: 'mean' },
  ],
  [
    'disable_allgather',
    'boolean',
    'Broadcast updated weights instead of gathering them.',
    { default: false },
  ],
]);

const FP16 = `${DOCS}#fp16-training-options`;
const BF16 = `${DOCS}#bfloat16-training-options`;
const bf16Rows: readonly Row[] = [
  [
    'enabled',
    'boolean',
    'Hold weights and gradients in bf16 and compute in bf16; the optimizer keeps fp32 masters. Excludes fp16.',
    {
      auto: true,
      default: false,
      fields: ['precision.weights', 'precision.compute', 'precision.scheme', 'precision.masterWeights'],
    },
  ],
  ['immediate_grad_update', 'boolean', 'Add each gradient to the fp32 buffer at once.', { default: false }],
  ['check_grad_overflow', 'boolean', 'Skip steps whose gradients overflow.', { default: true }],
  [
    'bf16_master_weights_and_grads',
    'boolean',
    'Keep the master weights and their gradients in bf16. Needs ZeRO stage 1 to 3.',
    { default: false, sets: 'precision.masterWeights', spellings: { bf16: true } },
  ],
  [
    'bf16_optimizer_states',
    'boolean',
    'Keep optimizer states in bf16. Needs `bf16_master_weights_and_grads`.',
    { default: false, sets: 'precision.optimizerStates', spellings: { bf16: true } },
  ],
];
const precision = [
  ...block('', FP16, [
    [
      'fp16',
      'object',
      'Mixed precision in fp16 with loss scaling.',
      {
        fields: ['precision.weights', 'precision.compute', 'precision.scheme'],
      },
    ],
  ]),
  ...releasedBlock('fp16', FP16, RELEASED, [
    [
      'enabled',
      'Hold weights and gradients in fp16 and compute in fp16; the optimizer keeps fp32 masters. Excludes bf16.',
      {
        auto: true,
        fields: ['precision.weights', 'precision.compute', 'precision.scheme', 'precision.masterWeights'],
      },
    ],
    ['auto_cast', 'Cast the inputs of the model to fp16.'],
    ['loss_scale', 'Static loss scale; 0 adapts it while training.'],
    ['initial_scale_power', 'First dynamic loss scale, as a power of 2.', { auto: true }],
    ['loss_scale_window', 'Steps without overflow before the scale is doubled.'],
    ['hysteresis', 'Overflows that are tolerated before the scale shrinks.'],
    ['consecutive_hysteresis', 'Refill the tolerance after a good step.'],
    ['min_loss_scale', 'Smallest dynamic loss scale.'],
    [
      'fp16_master_weights_and_grads',
      'Keep the master weights in fp16 (CPU Adam only). Needs ZeRO stage 1 to 3.',
      { sets: 'precision.masterWeights', spellings: { fp16: true } },
    ],
  ]),
  ...block('', BF16, [
    [
      'bf16',
      'object',
      'Mixed precision in bf16, without loss scaling.',
      {
        fields: ['precision.weights', 'precision.compute', 'precision.scheme'],
      },
    ],
    ['bfloat16', 'object', 'Old name of `bf16`, read only where `bf16` is absent.', { deprecated: 'bf16' }],
  ]),
  ...block('bf16', BF16, bf16Rows),
  ...block('bfloat16', BF16, bf16Rows),
  ...block('', `${DOCS}#automatic-mixed-precision-amp-training-options`, [
    [
      'amp',
      'object',
      'NVIDIA Apex mixed precision, removed from newer versions. Excludes ZeRO, fp16 and bf16.',
      {
        deprecated: 'bf16',
      },
    ],
  ]),
  ...block('amp', `${DOCS}#automatic-mixed-precision-amp-training-options`, [
    [
      'enabled',
      'boolean',
      'Switch Apex on.',
      { default: false, fields: ['precision.compute', 'precision.scheme'] },
    ],
    ['opt_level', 'string', 'Apex optimization level.', { values: ['O0', 'O1', 'O2', 'O3'] }],
  ]),
  ...block('', `${SOURCE}runtime/torch_autocast.py`, [
    [
      'torch_autocast',
      'object',
      'fp32 weights computed under `torch.autocast`.',
      {
        fields: ['precision.scheme', 'precision.compute'],
      },
    ],
  ]),
  ...block('torch_autocast', `${SOURCE}runtime/torch_autocast.py`, [
    ['enabled', 'boolean', 'Switch autocast on.', { default: false, fields: ['precision.scheme'] }],
    [
      'dtype',
      'string',
      'Type of the lowered operators.',
      {
        values: ['bfloat16', 'float16', 'bf16', 'fp16', 'torch.bfloat16', 'torch.float16', 'half'],
        fields: ['precision.compute'],
      },
    ],
    ['lower_precision_safe_modules', 'array', 'Modules whose gradients may be reduced in the low type.'],
  ]),
  ...block('', `${DOCS}#data-type-options`, [
    ['data_types', 'object', 'Types that differ from the precision mode.'],
  ]),
  ...block('data_types', `${DOCS}#data-type-options`, [
    [
      'grad_accum_dtype',
      'string',
      'Type in which gradients are accumulated over micro batches. Unset: the type of the weights; fp32 doubles their bytes.',
      {
        values: ['fp32', 'fp16', 'bf16'],
        default: null,
        sets: 'precision.gradientAccumulation',
        means: dtypeOf,
      },
    ],
    [
      'param_dtype',
      'string',
      'Type of the weights; must agree with fp16 or bf16.',
      {
        values: ['fp32', 'fp16', 'bf16'],
        default: null,
      },
    ],
    [
      'buffer_dtype',
      'string',
      'Type of the buffers. Unset: as loaded.',
      {
        values: ['fp32', 'fp16', 'bf16'],
        default: null,
      },
    ],
    [
      'keep_in_fp32_modules',
      'any',
      'Buffers kept in fp32: `auto` or name patterns.',
      { auto: true, default: 'auto' },
    ],
  ]),
];

/** Documentation of `zero_optimization`. */
export const ZERO_DOCS = `${DOCS}#zero-optimizations-for-fp16-training`;

/** Stage-3 keys, which DeepSpeed accepts with and without their prefix. */
const stage3Rows: readonly Row[] = [
  [
    'max_live_parameters',
    'integer',
    'Weights that may be whole on a GPU at once before prefetching stops (stage 3).',
    { default: 1e9, sets: 'zero.maxLiveParameters', assumes: ZERO_DOCS },
  ],
  [
    'max_reuse_distance',
    'integer',
    'Weights that are used again within this many elements stay whole (stage 3).',
    { default: 1e9, sets: 'zero.maxReuseDistance', assumes: ZERO_DOCS },
  ],
  [
    'prefetch_bucket_size',
    'integer',
    'Elements that are gathered ahead of use (stage 3). `auto`: 0.9 × hidden size².',
    { auto: true, default: 5e7, sets: 'zero.prefetchBucket', assumes: ZERO_DOCS },
  ],
  [
    'param_persistence_threshold',
    'integer',
    'Weights smaller than this are kept whole on every GPU (stage 3). `auto`: 10 × hidden size.',
    { auto: true, default: 1e5, sets: 'zero.persistenceThreshold', assumes: ZERO_DOCS },
  ],
  [
    'model_persistence_threshold',
    'integer',
    'Upper bound of all weights that are kept whole (stage 3). Default: no bound.',
  ],
  [
    'gather_16bit_weights_on_model_save',
    'boolean',
    'Gather the whole model on one GPU when it is saved (stage 3).',
    { auto: true, default: false, sets: 'saving.weights', spellings: { full: true } },
  ],
  [
    'module_granularity_threshold',
    'integer',
    'Treat finely split modules as one unit (stage 3).',
    { default: 0 },
  ],
  [
    'use_all_reduce_for_fetch_params',
    'boolean',
    'Fetch weights by all-reduce (stage 3).',
    { default: false },
  ],
  [
    'allgather_sequential',
    'boolean',
    'Gather weight by weight without a bucket (stage 3).',
    { default: false },
  ],
];

const zero = [
  ...block('', ZERO_DOCS, [
    [
      'zero_optimization',
      'any',
      'ZeRO: which training state is split over data-parallel GPUs. The old form `true` means stage 1.',
      {
        fields: ['zero.stage', 'parallel.data'],
      },
    ],
    [
      'allgather_size',
      'integer',
      'Bucket of the old boolean form of `zero_optimization`.',
      {
        deprecated: 'zero_optimization.allgather_bucket_size',
        default: 5e8,
      },
    ],
  ]),
  ...block('zero_optimization', ZERO_DOCS, [
    [
      'stage',
      'integer',
      '0: nothing is partitioned. 1: optimizer states. 2: and gradients. 3: and weights.',
      {
        values: [0, 1, 2, 3],
        auto: true,
        default: 0,
        sets: 'zero.stage',
        assumes: ZERO_DOCS,
        fields: ['parallel.data'],
      },
    ],
  ]),
  ...releasedBlock('zero_optimization', ZERO_DOCS, RELEASED, [
    [
      'contiguous_gradients',
      'Copy gradients into one buffer as they appear, against fragmentation.',
      { sets: 'zero.contiguousGradients', assumes: ZERO_DOCS },
    ],
    ['reduce_scatter', 'Reduce-scatter gradients instead of reducing them everywhere.'],
    [
      'reduce_bucket_size',
      'Gradient elements reduced at a time; the bucket is a buffer on the GPU. `auto`: hidden size².',
      { auto: true, sets: 'zero.reduceBucket', assumes: ZERO_DOCS },
    ],
    ['use_multi_rank_bucket_allreduce', 'Reduce buckets of several ranks together.'],
    ['allgather_partitions', 'Gather updated weights instead of broadcasting them.'],
    [
      'allgather_bucket_size',
      'Weight elements gathered at a time after the step (stages 1 and 2).',
      { auto: true, sets: 'zero.allgatherBucket', assumes: ZERO_DOCS },
    ],
    [
      'overlap_comm',
      'Reduce gradients while backward goes on; stages 1 and 2 then hold a second bucket. Default: only at stage 3.',
      { sets: 'zero.overlapCommunication' },
    ],
    ['compute_grad_norm', 'Keep the global gradient norm (stages 1 and 2).'],
    ['load_from_fp32_weights', 'Restore masters from fp32 copies in the checkpoint.'],
    ['elastic_checkpoint', 'Old elastic checkpoints; no longer supported at stage 3.'],
    [
      'offload_param',
      'Keep sharded weights in host memory or on NVMe (stage 3 only).',
      { fields: ['offload.parameters'] },
    ],
    [
      'offload_optimizer',
      'Keep optimizer states in host memory or on NVMe and step there.',
      { fields: ['offload.optimizer'] },
    ],
    ['zenflow', 'ZenFlow: overlap the offloaded step with training.', { brings: 'partial-offload' }],
    [
      'sub_group_size',
      'Elements that the stage-3 optimizer steps at a time.',
      { auto: true, sets: 'zero.subGroup', assumes: ZERO_DOCS },
    ],
    [
      'cpu_offload',
      'Old switch for offloading the optimizer.',
      { deprecated: 'zero_optimization.offload_optimizer', fields: ['offload.optimizer'] },
    ],
    [
      'cpu_offload_param',
      'Old switch for offloading weights.',
      { deprecated: 'zero_optimization.offload_param', fields: ['offload.parameters'] },
    ],
    [
      'cpu_offload_use_pin_memory',
      'Old switch without effect.',
      { deprecated: 'zero_optimization.offload_optimizer.pin_memory' },
    ],
  ]),
  ...block('zero_optimization', ZERO_DOCS, [
    ...stage3Rows.map(([name, ...rest]): Row => [`stage3_${name}`, ...rest]),
    ...stage3Rows.map(
      ([name, type, doc, extra]): Row => [
        name,
        type,
        doc,
        { ...extra, alias: `zero_optimization.stage3_${name}` },
      ],
    ),
  ]),
  ...releasedBlock('zero_optimization', ZERO_DOCS, RELEASED, [
    [
      'stage3_gather_fp16_weights_on_model_save',
      'Old name.',
      { deprecated: 'zero_optimization.stage3_gather_16bit_weights_on_model_save' },
    ],
    ['ignore_unused_parameters', 'Tolerate weights that get no gradient.'],
    ['legacy_stage1', 'Removed implementation of stage 1.'],
    ['round_robin_gradients', 'Copy gradients to the host in parallel over ranks.'],
    ['parameter_alignment', 'Align weights in flat buffers; adds padding.'],
    [
      'zero_hpz_partition_size',
      'ZeRO++: GPUs that hold a second copy of the weights among them, so that backward gathers within a node.',
      { sets: 'zero.hpzPartition', assumes: ZERO_DOCS },
    ],
    ['zero_quantized_weights', 'ZeRO++: gather quantized weights.', { brings: 'quantized-communication' }],
    [
      'zero_quantized_nontrainable_weights',
      'ZeRO++: store frozen weights quantized.',
      { brings: 'quantized-communication' },
    ],
    [
      'zero_quantized_gradients',
      'ZeRO++: exchange quantized gradients.',
      { brings: 'quantized-communication' },
    ],
    ['zeropp_loco_param', 'LoCo error feedback of ZeRO++, removed from newer versions.'],
    [
      'mics_shard_size',
      'MiCS: GPUs that a shard group spans; removed from newer versions. -1 is off.',
      { sets: 'zero.micsShard' },
    ],
    ['mics_hierarchical_params_gather', 'MiCS: gather in two steps; removed from newer versions.'],
    ['memory_efficient_linear', 'Linear layers that keep no gathered weight for backward (stage 3).'],
    ['pipeline_loading_checkpoint', 'Overlap loading of checkpoints (stage 3).'],
    ['override_module_apply', 'Replace `nn.Module.apply` (stage 3).'],
    ['log_trace_cache_warnings', 'Log when the prefetch trace is dropped.'],
    ['enable_sanity_checks', 'Internal checks, for debugging.'],
    ['save_muon_momentum_buffer_in_memory', 'Keep the Muon momentum off the NVMe (stage 3).'],
    ['leaf_module', 'Modules that stage 3 treats as one unit.', { fields: ['zero.leafModules'] }],
  ]),
  ...releasedBlock('zero_optimization.leaf_module', ZERO_DOCS, RELEASED, [
    ['classes', 'Class names.', { fields: ['zero.leafModules'] }],
    ['names', 'Module names.', { fields: ['zero.leafModules'] }],
    ['name_suffixes', 'Ends of module names.', { fields: ['zero.leafModules'] }],
  ]),
  ...releasedBlock('zero_optimization.zenflow', `${SOURCE}runtime/zenflow/zenflow_config.py`, RELEASED, [
    ['topk_ratio', 'Share of gradients that are stepped on the GPU.'],
    ['select_strategy', 'How important gradients are picked.'],
    ['select_interval', 'Steps between picks.'],
    ['update_interval', 'Steps between updates of the rest.'],
    ['overlap_step', 'Step on the CPU while the GPU trains.'],
    ['offload', 'Keep picked states in host memory.'],
    ['auto_ratio', 'Threshold of the automatic update.'],
    ['full_warm_up_rounds', 'Steps before picking begins.'],
    ['pt_reserved_cores_perc', 'Share of CPU cores left to PyTorch.'],
    ['steps_per_epoch', 'Steps of an epoch.'],
  ]),
];

/** Address of the defaults of offload. */
export const OFFLOAD_DOCS = 'https://www.deepspeed.ai/docs/config-json/#optimizer-offloading';

const offloadRows: readonly Row[] = [
  [
    'nvme_path',
    'string',
    'Folder on the NVMe device; needed when the device is `nvme`.',
    { auto: true, default: null },
  ],
  [
    'pin_memory',
    'boolean',
    'Page-locked host memory: faster copies, but it cannot be swapped out. Off by default until DeepSpeed 0.19.4.',
    {
      defaults: { of: 'version.deepspeed', before: false, since: '0.19.5', after: true },
      sets: 'offload.pinMemory',
      assumes: OFFLOAD_DOCS,
    },
  ],
];
const offload = [
  ...releasedBlock('zero_optimization.offload_param', `${DOCS}#parameter-offloading`, RELEASED, [
    [
      'device',
      'Where sharded weights are kept.',
      { values: ['none', 'cpu', 'nvme'], auto: true, fields: ['offload.parameters'] },
    ],
  ]),
  ...block('zero_optimization.offload_param', `${DOCS}#parameter-offloading`, [...offloadRows]),
  ...releasedBlock('zero_optimization.offload_param', `${DOCS}#parameter-offloading`, RELEASED, [
    ['buffer_count', 'Buffers for NVMe.', { auto: true, sets: 'offload.parameterBuffers' }],
    ['buffer_size', 'Elements of one buffer for NVMe.', { auto: true, sets: 'offload.parameterBufferSize' }],
    [
      'max_in_cpu',
      'Elements kept in host memory with NVMe.',
      { auto: true, sets: 'offload.parametersInHost' },
    ],
  ]),
  ...releasedBlock('zero_optimization.offload_optimizer', `${DOCS}#optimizer-offloading`, RELEASED, [
    [
      'device',
      'Where optimizer states are kept; the step runs on the CPU.',
      { values: ['none', 'cpu', 'nvme'], auto: true, fields: ['offload.optimizer'] },
    ],
  ]),
  ...block('zero_optimization.offload_optimizer', `${DOCS}#optimizer-offloading`, [...offloadRows]),
  ...releasedBlock('zero_optimization.offload_optimizer', `${DOCS}#optimizer-offloading`, RELEASED, [
    ['buffer_count', 'Buffers for NVMe.', { auto: true, sets: 'offload.optimizerBuffers' }],
    ['pipeline_read', 'Read the next tile while stepping.'],
    ['pipeline_write', 'Write the last tile while stepping.'],
    ['fast_init', 'Faster start with NVMe.'],
    [
      'ratio',
      'Share of the optimizer states that is offloaded; below 1 only at stage 3.',
      { sets: 'offload.optimizerRatio' },
    ],
    ['super_offload', 'Offload tuned for Grace superchips (stage 3).', { brings: 'partial-offload' }],
    ['cpuadam_cores_perc', 'Share of CPU cores for the step of `super_offload`.'],
  ]),
];

const parallel = [
  ...block('', `${SOURCE}__init__.py`, [
    [
      'sequence_parallel_size',
      'integer',
      'GPUs that split each sequence (Ulysses); the data-parallel size shrinks by it.',
      { sets: 'parallel.ulysses' },
    ],
    ['data_parallel_size', 'integer', 'Data-parallel GPUs beside sequence parallelism.'],
    ['use_data_before_expert_parallelism', 'boolean', 'Order of data and expert groups.', { default: false }],
  ]),
  ...block('', `${SOURCE}runtime/tensor_parallel/config.py`, [
    [
      'tensor_parallel',
      'object',
      'AutoTP: tensor parallelism of Hugging Face models while training.',
      {
        fields: ['parallel.tensor'],
      },
    ],
  ]),
  ...block('tensor_parallel', `${SOURCE}runtime/tensor_parallel/config.py`, [
    ['autotp_size', 'integer', 'Tensor-parallel GPUs; 0 is off.', { default: 0, sets: 'parallel.tensor' }],
    ['dtype', 'string', 'Type that the model is converted to.'],
    ['tp_overlap_comm', 'boolean', 'Overlap its all-reduces with computation.', { default: false }],
    ['vocab_parallel_lm_head', 'boolean', 'Split the head over the vocabulary.', { default: null }],
    [
      'vocab_parallel_ce_backend',
      'string',
      'Loss of the split head.',
      { values: ['torch', 'liger'], default: 'torch' },
    ],
    ['tensor_parallel', 'object', 'Details of the groups.'],
    ['tp', 'object', 'Details of the groups.'],
    ['injection_policy_tuple', 'any', 'Layers to split by hand.', { default: null }],
    ['partition_config', 'object', 'Own rules for splitting layers.', { default: null }],
    ['preset_model', 'string', 'Built-in rules of a model family.', { default: null }],
    ['keep_module_on_host', 'boolean', 'Load weights to host memory first.', { default: false }],
    ['replace_with_kernel_inject', 'boolean', 'Inference kernels.', { default: false }],
    ['kernel_inject', 'boolean', 'Inference kernels.', { default: false }],
  ]),
  ...block('', `${SOURCE}module_inject/auto_ep_config.py`, [
    [
      'expert_parallel',
      'object',
      'AutoEP: experts of Hugging Face models split over GPUs.',
      {
        fields: ['parallel.expert'],
      },
    ],
  ]),
  ...block('expert_parallel', `${SOURCE}module_inject/auto_ep_config.py`, [
    ['enabled', 'boolean', 'Switch AutoEP on.', { default: false }],
    ['autoep_size', 'integer', 'Expert-parallel GPUs.', { sets: 'parallel.expert' }],
  ]),
  ...block('', 'https://www.deepspeed.ai/tutorials/pipeline/', [
    ['pipeline', 'object', 'Pipeline engine. The number of stages comes from the code, not from here.'],
  ]),
  ...block('pipeline', 'https://www.deepspeed.ai/tutorials/pipeline/', [
    ['stages', 'any', 'Pipeline stages.', { default: 'auto' }],
    ['partition', 'string', 'How layers are dealt to stages.', { default: 'best' }],
    ['seed_layers', 'boolean', 'A seed per layer.', { default: false }],
    [
      'activation_checkpoint_interval',
      'integer',
      'Layers per checkpoint; 0 is off.',
      {
        default: 0,
        fields: ['activations.checkpointEvery'],
      },
    ],
    [
      'pipe_partitioned',
      'boolean',
      'Split activations between stages over tensor-parallel ranks.',
      { default: true },
    ],
    ['grad_partitioned', 'boolean', 'Split their gradients likewise.', { default: true }],
  ]),
];

const ACTIVATIONS = `${DOCS}#activation-checkpointing`;
const activations = [
  ...block('', ACTIVATIONS, [
    [
      'activation_checkpointing',
      'object',
      'Tunes `deepspeed.checkpointing` for models that call it. **Does not switch checkpointing on**: Hugging Face models use `gradient_checkpointing`.',
    ],
  ]),
  ...block('activation_checkpointing', ACTIVATIONS, [
    ['partition_activations', 'boolean', 'Split checkpoints over tensor-parallel GPUs.', { default: false }],
    ['cpu_checkpointing', 'boolean', 'Move checkpoints to host memory.', { default: false }],
    ['contiguous_memory_optimization', 'boolean', 'Keep checkpoints in one buffer.', { default: false }],
    ['number_checkpoints', 'integer', 'Checkpoints, to size that buffer.', { default: null }],
    ['synchronize_checkpoint_boundary', 'boolean', 'Synchronize at every checkpoint.', { default: false }],
    ['profile', 'boolean', 'Time forward and backward of checkpoints.', { default: false }],
  ]),
];

const misc = [
  ...block('', `${DOCS}#gradient-clipping`, [
    [
      'gradient_clipping',
      'number',
      'Largest gradient norm. Since DeepSpeed 0.19.3 the default is 1; before, gradients were not clipped.',
      { auto: true, default: 1 },
    ],
  ]),
  ...block('', `${DOCS}#logging`, [
    ['steps_per_print', 'number', 'Steps between progress lines.', { auto: true, default: null }],
    [
      'wall_clock_breakdown',
      'boolean',
      'Time the phases of a step; adds synchronization.',
      { default: false },
    ],
    ['memory_breakdown', 'boolean', 'Log memory at the phases of a step.', { default: false }],
    ['dump_state', 'boolean', 'Print the engine after its start.', { default: false }],
    ['log_level', 'string', 'Verbosity.', { default: null }],
  ]),
  ...block('', `${SOURCE}runtime/constants.py`, [
    ['managed_gradient_accumulation', 'boolean', 'DeepSpeed counts micro batches itself.', { default: true }],
    ['disable_python_gc', 'boolean', 'Switch the garbage collector of Python off.', { default: false }],
    ['dataloader_drop_last', 'boolean', 'Drop an incomplete last batch.', { default: false }],
    ['vocabulary_size', 'integer', 'Only checked for alignment.', { default: null }],
  ]),
  ...block('', `${DOCS}#flops-profiler`, [['flops_profiler', 'object', 'Measure FLOPs of one step.']]),
  ...block('', `${DOCS}#autotuning`, [['autotuning', 'object', 'Search for batch size and ZeRO settings.']]),
  ...block('', `${DOCS}#asynchronous-io`, [
    ['aio', 'object', 'Asynchronous reads and writes of NVMe offload.'],
  ]),
  ...block('', `${DOCS}#checkpoint-options`, [['checkpoint', 'object', 'How checkpoints are written.']]),
  ...block('', `${DOCS}#data-efficiency`, [
    ['data_efficiency', 'object', 'Data sampling and random layer dropping.'],
    [
      'curriculum_learning',
      'object',
      'Old place of curriculum learning.',
      {
        deprecated: 'data_efficiency.data_sampling.curriculum_learning',
      },
    ],
  ]),
  ...block('', `${DOCS}#monitoring-module`, [
    ['tensorboard', 'object', 'Log to TensorBoard.'],
    ['wandb', 'object', 'Log to Weights & Biases.'],
    ['csv_monitor', 'object', 'Log to CSV files.'],
    ['comet', 'object', 'Log to Comet.'],
  ]),
  ...block('', `${DOCS}#communication-logging`, [['comms_logger', 'object', 'Log collectives.']]),
  ...block('comms_logger', `${DOCS}#communication-logging`, [
    ['enabled', 'boolean', 'Switch it on.', { default: false }],
    ['prof_all', 'boolean', 'Log every collective.', { default: true }],
    ['prof_ops', 'array', 'Collectives to log.'],
    ['verbose', 'boolean', 'Log each call.', { default: false }],
    ['debug', 'boolean', 'Log callers.', { default: false }],
  ]),
  ...block('', `${SOURCE}compile/config.py`, [
    ['compile', 'object', 'DeepCompile.', { fields: ['kernels.compile'] }],
  ]),
  ...releasedBlock('compile', `${SOURCE}compile/config.py`, RELEASED, [
    [
      'deepcompile',
      'Compile the model with ZeRO in the graph.',
      { sets: 'kernels.compile', spellings: { true: true } },
    ],
    ['autoep_non_moe', 'With AutoEP, compile the rest.'],
    ['free_activation', 'Free activations early.'],
    ['free_activation_threshold', 'Bytes above which they are freed early.'],
    ['offload_activation', 'Move activations to host memory.', { brings: 'activation-offload' }],
    ['offload_activation_pin_memory', 'Page-lock that memory.'],
    ['offload_opt_states', 'Move optimizer states to host memory.'],
    ['offload_parameters', 'Move weights to host memory.'],
    ['double_buffer', 'Two gather buffers.'],
    ['symmetric_memory', 'Symmetric memory for collectives.'],
    ['debug_log', 'Log the passes.'],
    ['sync_before_reduce', 'For debugging.'],
    ['sync_after_reduce', 'For debugging.'],
    ['sync_before_allgather', 'For debugging.'],
    ['sync_after_allgather', 'For debugging.'],
    ['keep_int_input_tensors', 'Keep integer inputs alive.'],
    ['keep_all_input_tensors', 'Keep all inputs alive.'],
    ['passes', 'Compiler passes.'],
  ]),
  ...block('', `${SOURCE}runtime/config.py`, [
    ['hybrid_engine', 'object', 'Inference engine inside RLHF training.', { brings: 'rollout-buffers' }],
    ['weight_quantization', 'object', 'Quantized weights for inference.'],
    ['timers', 'object', 'Throughput timers.'],
    [
      'msamp',
      'object',
      'fp8 optimizer of MS-AMP, read by its patched DeepSpeed.',
      { brings: 'fp8-training' },
    ],
    ['ms_amp', 'object', 'fp8 optimizer of MS-AMP, under another name.', { brings: 'fp8-training' }],
    ['datastates_ckpt', 'any', 'Asynchronous checkpoints.', { default: null }],
  ]),
  ...block('hybrid_engine', `${SOURCE}runtime/config.py`, [
    ['enabled', 'boolean', 'Switch it on.', { default: false }],
    ['max_out_tokens', 'integer', 'Longest generation.', { default: 512 }],
    ['inference_tp_size', 'integer', 'Tensor-parallel size of generation.', { default: 1 }],
    ['release_inference_cache', 'boolean', 'Free the cache after generation.', { default: false }],
    ['pin_parameters', 'boolean', 'Keep weights gathered.', { default: true }],
    ['tp_gather_partition_size', 'integer', 'Layers gathered at a time.', { default: 8 }],
    ['enable_cuda_graph', 'boolean', 'CUDA graphs for generation.', { default: false }],
  ]),
  ...block('', `${DOCS}#compression`, [
    [
      'compression_training',
      'object',
      'Compression, removed from newer versions.',
      { brings: 'compression' },
    ],
  ]),
  ...block('', `${DOCS}#sparse-attention`, [
    [
      'sparse_attention',
      'object',
      'Sparse attention, removed from newer versions.',
      { brings: 'sparse-attention' },
    ],
  ]),
  ...block('', `${DOCS}#elastic-training-config-v01-and-v02`, [
    ['elasticity', 'object', 'Elastic batch sizes, removed from newer versions.'],
  ]),
  ...block('', DOCS, [
    ['nebula', 'object', 'Nebula checkpoints, removed from newer versions.'],
    ['quantize_training', 'object', 'Quantization while training, removed from newer versions.'],
    ['eigenvalue', 'object', 'Eigenvalues for quantization, removed from newer versions.'],
    ['sparse_gradients', 'boolean', 'Sparse reduction of embeddings, removed from newer versions.'],
    ['progressive_layer_drop', 'object', 'Layer dropping, removed from newer versions.'],
    ['graph_harvesting', 'boolean', 'CUDA graphs of the step, removed from newer versions.'],
  ]),
];

/** Every key that DeepSpeed reads, read from its source at 0.19; keys that are gone name the version in the rules. */
export const DEEPSPEED_KEYS: readonly KeySpec[] = [
  ...batch,
  ...optimizer,
  ...scheduler,
  ...communication,
  ...precision,
  ...zero,
  ...offload,
  ...parallel,
  ...activations,
  ...misc,
];

export const DEEPSPEED_TABLE = new KeyTable(DEEPSPEED_KEYS, 'DeepSpeed', RELEASED);

/** Blocks that DeepSpeed reads with Pydantic and `extra="forbid"`: an unknown key or a wrong type stops the run. */
export const STRICT_BLOCKS: ReadonlySet<string> = new Set([
  'zero_optimization',
  'zero_optimization.offload_param',
  'zero_optimization.offload_optimizer',
  'zero_optimization.zenflow',
  'zero_optimization.leaf_module',
  'fp16',
  'bf16',
  'bfloat16',
  'tensor_parallel',
  'comms_logger',
  'compile',
  'hybrid_engine',
]);

/** Keys that newer versions refuse, with the first version that does. */
export const REMOVED_KEYS: Readonly<Record<string, string>> = {
  nebula: '0.19.7',
  compression_training: '0.19.7',
  quantize_training: '0.19.7',
  sparse_attention: '0.19.7',
  'zero_optimization.mics_shard_size': '0.19.7',
  'zero_optimization.mics_hierarchical_params_gather': '0.19.7',
  amp: '0.19.8',
  sparse_gradients: '0.19.8',
  eigenvalue: '0.19.8',
  elasticity: '0.19.8',
  graph_harvesting: '0.19.8',
  curriculum_learning: '0.19.8',
  progressive_layer_drop: '0.19.8',
  'zero_optimization.zeropp_loco_param': '0.19.8',
};
