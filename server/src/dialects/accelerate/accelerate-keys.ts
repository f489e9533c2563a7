import RELEASES from '../../../data/framework-keys/accelerate.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { ACCELERATE, fileIn } from '../../sources/repositories';
import { fusesBy } from '../compile-backend';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, type Row, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { strategyOf } from './fsdp-strategy';

/** What the releases say of the keys: types and defaults of most rows. */
const OF_ACCELERATE = new FrameworkKeys(() => RELEASES);
const RELEASED = new ReleasedKeys([OF_ACCELERATE, 'ClusterConfig']);
/** The launcher's arguments, whose names the keys within blocks are (`launch.py`, `_validate_launch_command`). */
export const LAUNCH_ARGUMENTS = new ReleasedKeys([OF_ACCELERATE, 'launch']);

const LAUNCH = 'https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch';
const CONFIG = fileIn(ACCELERATE, 'src/accelerate/commands/config/config_args.py');
const DEEPSPEED = 'https://huggingface.co/docs/accelerate/usage_guides/deepspeed';
const FSDP = 'https://huggingface.co/docs/accelerate/usage_guides/fsdp';
const FSDP2 = 'https://huggingface.co/docs/accelerate/concept_guides/fsdp1_vs_fsdp2';
const MEGATRON = 'https://huggingface.co/docs/accelerate/usage_guides/megatron_lm';
const PARALLEL = 'https://huggingface.co/docs/accelerate/concept_guides/nd_parallelism';
const FP8 = 'https://huggingface.co/docs/accelerate/usage_guides/low_precision_training';
const SAGEMAKER = 'https://huggingface.co/docs/accelerate/usage_guides/sagemaker';

const PLACES = { none: 'none', cpu: 'cpu', nvme: 'nvme' };

const KERNELS = { flash_attention_2: 'flash2', flash_attention_3: 'flash3', sdpa: 'sdpa' } as const;

/** A kernel that sequence parallelism may take; what is written elsewhere is no choice of the run. */
function kernelOf(node: ConfigNode) {
  const name = textOf(node) ?? '';
  return Object.hasOwn(KERNELS, name) ? KERNELS[name as keyof typeof KERNELS] : undefined;
}

/** The same rows with and without the prefix that the launcher adds. */
function prefixed(parent: string, prefix: string, source: string, rows: readonly Row[]): KeySpec[] {
  return [
    ...block(
      parent,
      source,
      rows.map(([name, ...rest]): Row => [`${prefix}${name}`, ...rest]),
    ),
    ...block(
      parent,
      source,
      rows.map(
        ([name, type, doc, extra]): Row => [
          name,
          type,
          doc,
          { ...extra, alias: `${parent}.${prefix}${name}` },
        ],
      ),
    ),
  ];
}

/** Kinds of runs that the launcher knows. */
export const DISTRIBUTED_TYPES = [
  'NO',
  'MULTI_GPU',
  'DEEPSPEED',
  'FSDP',
  'MEGATRON_LM',
  'MULTI_CPU',
  'MULTI_XPU',
  'MULTI_NPU',
  'MULTI_MLU',
  'MULTI_SDAA',
  'MULTI_MUSA',
  'MULTI_HPU',
  'MULTI_NEURON',
  'XLA',
] as const;

/** Top-level keys of either environment. */
const common = block('', CONFIG, [
  [
    'compute_environment',
    'string',
    'Where the run happens: this machine or Amazon SageMaker.',
    { values: ['LOCAL_MACHINE', 'AMAZON_SAGEMAKER'], default: 'LOCAL_MACHINE' },
  ],
  [
    'distributed_type',
    'string',
    'How GPUs work together: replicas (`MULTI_GPU`), sharded state (`FSDP`, `DEEPSPEED`), Megatron, or one GPU (`NO`). The only key that must be there.',
    { fields: ['parallel.data', 'hardware.gpus'] },
  ],
  [
    'mixed_precision',
    'string',
    "Low precision of the computation. Quote `'no'`: YAML reads it as false otherwise.",
    {
      values: ['no', 'fp16', 'bf16', 'fp8'],
      default: 'no',
      fields: ['precision.compute', 'precision.scheme', 'precision.weights', 'precision.masterWeights'],
    },
  ],
  [
    'fp16',
    'boolean',
    'Old switch for fp16.',
    { deprecated: 'mixed_precision', fields: ['precision.compute'] },
  ],
  ['use_cpu', 'boolean', 'Train on the CPU.', { default: false }],
  ['debug', 'boolean', 'Check shapes before each collective.', { default: false }],
  ['num_machines', 'integer', 'Nodes of the run.', { default: 1, sets: 'hardware.nodes', assumes: LAUNCH }],
  ['gpu_ids', 'any', 'GPUs to use on this node, separated by commas.', { default: 'all' }],
  [
    'enable_cpu_affinity',
    'boolean',
    'Bind processes to the CPU cores next to their GPU.',
    { default: false },
  ],
  ['dynamo_config', 'object', '`torch.compile` settings.', { fields: ['kernels.compile'] }],
  [
    'dynamo_backend',
    'string',
    'Old place of the compile backend.',
    {
      deprecated: 'dynamo_config.dynamo_backend',
      sets: 'kernels.compile',
      means: fusesBy,
    },
  ],
]);

const cluster = releasedBlock('', LAUNCH, RELEASED, [
  [
    'num_processes',
    'GPUs over **all** nodes, one process each. Left out, the launcher asks for `--num_processes`.',
    { sets: 'hardware.gpus' },
  ],
  ['machine_rank', 'Number of this node.'],
  ['main_process_ip', 'Address of the first node.', { type: 'any' }],
  ['main_process_port', 'Port of the first node.'],
  ['rdzv_backend', 'How nodes find each other.'],
  ['same_network', 'All nodes are in one network.'],
  ['main_training_function', 'Function that each process runs (notebooks, TPUs).'],
  ['fp8_config', 'Settings of fp8 training.'],
  ['deepspeed_config', 'DeepSpeed: a config file, or its most used settings in place.'],
  ['fsdp_config', 'Fully sharded data parallelism.'],
  ['parallelism_config', 'Sizes of data, tensor, context and sequence parallelism.'],
  ['megatron_lm_config', 'Megatron-LM settings.'],
  ['mpirun_config', 'Launch on CPUs with mpirun.'],
  ['downcast_bf16', 'TPU: compute doubles as bf16, too.'],
  ['tpu_name', 'TPU to use.', { type: 'any' }],
  ['tpu_zone', 'Zone of the TPU.', { type: 'any' }],
  ['tpu_use_cluster', 'Run on a TPU pod.'],
  ['tpu_use_sudo', 'Use sudo on TPU nodes.'],
  ['command_file', 'Commands for TPU nodes.', { type: 'any' }],
  ['commands', 'Commands for TPU nodes.', { type: 'any' }],
  ['tpu_vm', 'TPU nodes.', { type: 'any' }],
  ['tpu_env', 'Environment of TPU nodes.', { type: 'any' }],
]);

const sagemaker = block('', SAGEMAKER, [
  [
    'ec2_instance_type',
    'string',
    'Instance type, which fixes GPU model and GPUs per node.',
    { fields: ['hardware.gpu', 'hardware.gpus'] },
  ],
  ['iam_role_name', 'string', 'IAM role of the job.'],
  ['image_uri', 'string', 'Container image.', { default: null }],
  ['profile', 'string', 'AWS profile.', { default: null }],
  ['region', 'string', 'AWS region.', { default: 'us-east-1' }],
  ['base_job_name', 'string', 'Start of the job name.'],
  ['pytorch_version', 'any', 'PyTorch of the container.', { fields: ['version.torch'] }],
  ['transformers_version', 'any', 'transformers of the container.', { fields: ['version.transformers'] }],
  ['py_version', 'string', 'Python of the container.'],
  ['sagemaker_inputs_file', 'string', 'Inputs of the job.', { default: null }],
  ['sagemaker_metrics_file', 'string', 'Metrics of the job.', { default: null }],
  ['additional_args', 'object', 'More arguments of the estimator.', { default: null }],
]);

const deepspeed = block('deepspeed_config', DEEPSPEED, [
  [
    'deepspeed_config_file',
    'string',
    'Path of a DeepSpeed JSON file. It then says everything: stage, offload, accumulation, clipping and `mixed_precision` must not be set here as well.',
  ],
  [
    'zero_stage',
    'integer',
    'ZeRO stage: 1 splits optimizer states, 2 also gradients, 3 also weights.',
    { values: [0, 1, 2, 3], default: 2, sets: 'zero.stage', assumes: DEEPSPEED },
  ],
  [
    'gradient_accumulation_steps',
    'integer',
    "Micro batches per optimizer step. `auto` or left out: the script's `Accelerator` decides.",
    { auto: true, default: 'auto', sets: 'batch.accumulation' },
  ],
  ['gradient_clipping', 'number', 'Largest gradient norm.', { auto: true, default: 'auto' }],
  [
    'offload_optimizer_device',
    'string',
    'Where optimizer states are kept.',
    {
      values: ['none', 'cpu', 'nvme'],
      default: 'none',
      sets: 'offload.optimizer',
      assumes: DEEPSPEED,
      spellings: PLACES,
    },
  ],
  [
    'offload_param_device',
    'string',
    'Where sharded weights are kept (stage 3).',
    {
      values: ['none', 'cpu', 'nvme'],
      default: 'none',
      sets: 'offload.parameters',
      assumes: DEEPSPEED,
      spellings: PLACES,
    },
  ],
  ['offload_optimizer_nvme_path', 'string', 'Folder on the NVMe device.', { default: 'none' }],
  ['offload_param_nvme_path', 'string', 'Folder on the NVMe device.', { default: 'none' }],
  [
    'zero3_init_flag',
    'boolean',
    'Split weights while the model is built (stage 3).',
    { sets: 'loading.placement', spellings: { host: false } },
  ],
  [
    'zero3_save_16bit_model',
    'boolean',
    'Gather the whole model when it is saved (stage 3).',
    { default: false, sets: 'saving.weights', spellings: { full: true } },
  ],
  ['deepspeed_hostfile', 'string', 'Nodes for the DeepSpeed launcher.', { default: null }],
  ['deepspeed_exclusion_filter', 'string', 'Nodes to leave out.', { default: null }],
  ['deepspeed_inclusion_filter', 'string', 'Nodes to use.', { default: null }],
  [
    'deepspeed_multinode_launcher',
    'string',
    'How processes are started on other nodes.',
    { values: ['pdsh', 'standard', 'openmpi', 'mvapich', 'mpich', 'nossh', 'slurm'], default: 'pdsh' },
  ],
  [
    'deepspeed_moe_layer_cls_names',
    'string',
    'Mixture-of-experts classes that stage 3 treats as one unit.',
    { default: null, fields: ['zero.leafModules'] },
  ],
]);

const fsdp = prefixed('fsdp_config', 'fsdp_', FSDP, [
  [
    'version',
    'integer',
    'FSDP 1 or 2.',
    {
      values: [1, 2],
      default: 1,
      fields: ['parallel.data'],
      source: FSDP2,
    },
  ],
  [
    'sharding_strategy',
    'any',
    'FSDP 1: what is split. `FULL_SHARD` (1) everything, `SHARD_GRAD_OP` (2) gradients and states, `NO_SHARD` (3) nothing, `HYBRID_SHARD` (4) and `HYBRID_SHARD_ZERO2` (5) within a node.',
    { default: 'FULL_SHARD', sets: 'fsdp.strategy', assumes: FSDP, means: strategyOf },
  ],
  [
    'reshard_after_forward',
    'any',
    'FSDP 2: free gathered weights after forward (`true`, like `FULL_SHARD`) or keep them until backward (`false`, like `SHARD_GRAD_OP`).',
    { default: true, fields: ['fsdp.strategy'], source: FSDP2 },
  ],
  [
    'offload_params',
    'boolean',
    'Keep sharded weights, gradients and optimizer states in host memory.',
    {
      default: false,
      sets: 'offload.parameters',
      spellings: { cpu: true, none: false },
      fields: ['offload.optimizer'],
    },
  ],
  [
    'auto_wrap_policy',
    'string',
    'What is gathered at a time: a transformer layer, modules above a size, or the whole model (`NO_WRAP`, the default, which gathers everything at once).',
    {
      values: ['TRANSFORMER_BASED_WRAP', 'SIZE_BASED_WRAP', 'NO_WRAP'],
      default: 'NO_WRAP',
      sets: 'fsdp.wrap',
      spellings: { layer: 'TRANSFORMER_BASED_WRAP', size: 'SIZE_BASED_WRAP', none: 'NO_WRAP' },
    },
  ],
  [
    'min_num_params',
    'integer',
    'Smallest module that `SIZE_BASED_WRAP` wraps, in weights.',
    { default: 1e8, sets: 'fsdp.minParameters' },
  ],
  [
    'transformer_layer_cls_to_wrap',
    'any',
    'Layer classes that are wrapped. Left out: the model says.',
    {
      default: null,
    },
  ],
  [
    'backward_prefetch',
    'any',
    'FSDP 1: gather the next layer before (`BACKWARD_PRE`) or after (`BACKWARD_POST`) the gradients of this one.',
    {
      default: null,
      sets: 'fsdp.backwardPrefetch',
      spellings: { pre: ['BACKWARD_PRE', 1], post: ['BACKWARD_POST', 2], none: 'NO_PREFETCH' },
    },
  ],
  [
    'forward_prefetch',
    'boolean',
    'FSDP 1: gather the next layer early in forward.',
    { default: false, sets: 'fsdp.forwardPrefetch' },
  ],
  [
    'use_orig_params',
    'boolean',
    'FSDP 1: keep the original parameters visible.',
    { default: true, sets: 'fsdp.useOriginalParameters' },
  ],
  [
    'sync_module_states',
    'boolean',
    'Send the weights of the first process to the others.',
    { default: true },
  ],
  [
    'cpu_ram_efficient_loading',
    'boolean',
    'Load the checkpoint in one process only.',
    { default: true, sets: 'loading.hostCopies', spellings: { one: true, 'every-process': false } },
  ],
  [
    'activation_checkpointing',
    'boolean',
    'Recompute activations in backward instead of keeping them.',
    { default: false, sets: 'activations.checkpointing', spellings: { full: true } },
  ],
  [
    'activation_checkpointing_offload',
    'boolean',
    'FSDP 2: move checkpoints to host memory until backward.',
    { default: false, sets: 'activations.offload', spellings: { true: true } },
  ],
  [
    'state_dict_type',
    'string',
    'Form of checkpoints.',
    {
      values: ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT'],
      default: null,
      sets: 'saving.weights',
      spellings: { full: 'FULL_STATE_DICT', sharded: ['SHARDED_STATE_DICT', 'LOCAL_STATE_DICT'] },
    },
  ],
  ['ignored_modules', 'any', 'Modules that are not wrapped.', { default: null }],
]);

const parallelism = block('parallelism_config', PARALLEL, [
  [
    'parallelism_config_dp_replicate_size',
    'integer',
    'Replicas, each of which is split over the other GPUs.',
    { default: 1, sets: 'parallel.replicate' },
  ],
  ['parallelism_config_dp_shard_size', 'integer', 'GPUs over which FSDP splits the state.', { default: 1 }],
  ['parallelism_config_tp_size', 'integer', 'Tensor-parallel GPUs.', { default: 1, sets: 'parallel.tensor' }],
  [
    'parallelism_config_cp_size',
    'integer',
    'Context-parallel GPUs: each holds a part of the sequence.',
    { default: 1, sets: 'parallel.context' },
  ],
  [
    'parallelism_config_cp_backend',
    'string',
    'Context parallelism of torch.',
    { values: ['torch'], default: 'torch' },
  ],
  [
    'parallelism_config_cp_comm_strategy',
    'string',
    'How context-parallel GPUs exchange keys and values.',
    { values: ['allgather', 'alltoall'], default: 'allgather' },
  ],
  [
    'parallelism_config_sp_size',
    'integer',
    'Ulysses sequence-parallel GPUs.',
    { default: 1, sets: 'parallel.ulysses' },
  ],
  [
    'parallelism_config_sp_backend',
    'string',
    'Sequence parallelism of DeepSpeed.',
    {
      values: ['deepspeed'],
      default: 'deepspeed',
    },
  ],
  [
    'parallelism_config_sp_seq_length',
    'any',
    'Length of all sequences, where it is fixed.',
    { default: null },
  ],
  [
    'parallelism_config_sp_seq_length_is_variable',
    'boolean',
    'Lengths differ between batches.',
    { default: true },
  ],
  [
    'parallelism_config_sp_attn_implementation',
    'string',
    'Attention kernel under sequence parallelism.',
    {
      default: 'sdpa',
      sets: 'attention.implementation',
      means: kernelOf,
    },
  ],
]);

const megatron = block('megatron_lm_config', MEGATRON, [
  ['megatron_lm_tp_degree', 'integer', 'Tensor-parallel GPUs.', { default: 1, sets: 'parallel.tensor' }],
  ['megatron_lm_pp_degree', 'integer', 'Pipeline stages.', { default: 1, sets: 'parallel.pipeline' }],
  [
    'megatron_lm_num_micro_batches',
    'integer',
    'Micro batches per optimizer step.',
    {
      default: null,
      sets: 'batch.accumulation',
    },
  ],
  [
    'megatron_lm_sequence_parallelism',
    'boolean',
    'Split norms and dropout over tensor-parallel GPUs.',
    {
      default: null,
      sets: 'parallel.sequence',
    },
  ],
  [
    'megatron_lm_recompute_activations',
    'boolean',
    'Recompute attention in backward (selective).',
    {
      default: null,
      sets: 'activations.checkpointing',
      spellings: { selective: true, none: false },
    },
  ],
  [
    'megatron_lm_recompute_granularity',
    'string',
    'What is recomputed.',
    {
      values: ['full', 'selective'],
      default: null,
      sets: 'activations.checkpointing',
      spellings: { full: 'full', selective: 'selective' },
    },
  ],
  [
    'megatron_lm_recompute_method',
    'string',
    'Which layers are recomputed.',
    {
      values: ['uniform', 'block'],
      default: null,
    },
  ],
  [
    'megatron_lm_recompute_num_layers',
    'integer',
    'Layers per recomputed segment (`uniform`), or recomputed layers per pipeline stage (`block`).',
    {
      default: null,
      fields: ['activations.checkpointEvery', 'activations.layers'],
    },
  ],
  [
    'megatron_lm_use_distributed_optimizer',
    'boolean',
    'Split optimizer states over data-parallel GPUs.',
    {
      default: null,
      sets: 'parallel.distributedOptimizer',
    },
  ],
  [
    'megatron_lm_expert_model_parallel_size',
    'integer',
    'Expert-parallel GPUs.',
    {
      default: null,
      sets: 'parallel.expert',
    },
  ],
  [
    'megatron_lm_context_parallel_size',
    'integer',
    'Context-parallel GPUs.',
    {
      default: null,
      sets: 'parallel.context',
    },
  ],
  [
    'megatron_lm_optimizer_cpu_offload',
    'boolean',
    'Keep optimizer states in host memory.',
    {
      default: false,
      sets: 'offload.optimizer',
      spellings: { cpu: true },
    },
  ],
  ['megatron_lm_gradient_clipping', 'number', 'Largest gradient norm; 0 is off.', { default: 1 }],
  ['megatron_lm_use_custom_fsdp', 'boolean', "Megatron's own FSDP.", { default: false }],
  [
    'megatron_lm_use_precision_aware_optimizer',
    'boolean',
    'Optimizer states in low precision.',
    { default: false },
  ],
  [
    'megatron_lm_overlap_cpu_optimizer_d2h_h2d',
    'boolean',
    'Overlap copies of the offloaded step.',
    {
      default: false,
    },
  ],
  ['megatron_lm_no_load_optim', 'boolean', 'Do not load optimizer states.', { default: false }],
  ['megatron_lm_no_save_optim', 'boolean', 'Do not save optimizer states.', { default: false }],
  ['megatron_lm_eod_mask_loss', 'boolean', 'No loss at the ends of documents.', { default: false }],
  [
    'megatron_lm_decoder_last_pipeline_num_layers',
    'integer',
    'Layers of the last stage.',
    { default: null, sets: 'parallel.lastStageLayers' },
  ],
  ['megatron_lm_attention_backend', 'any', 'Attention backend.', { default: null }],
  ['megatron_lm_attention_dropout', 'number', 'Dropout of attention.', { default: null }],
  ['megatron_lm_hidden_dropout', 'number', 'Dropout of hidden states.', { default: null }],
  ['megatron_lm_attention_softmax_in_fp32', 'boolean', 'Softmax in fp32.', { default: null }],
  [
    'megatron_lm_expert_tensor_parallel_size',
    'integer',
    'Tensor-parallel GPUs of experts.',
    { default: null, sets: 'parallel.expertTensor' },
  ],
  ['megatron_lm_calculate_per_token_loss', 'boolean', 'Average the loss over tokens.', { default: null }],
  ['megatron_lm_use_rotary_position_embeddings', 'boolean', 'Rotary positions.', { default: null }],
]);

const fp8 = prefixed('fp8_config', 'fp8_', FP8, [
  [
    'backend',
    'string',
    'Library that computes in fp8.',
    { values: ['TE', 'AO', 'MSAMP'], fields: ['precision.fp8', 'features.unmodelled'] },
  ],
  ['use_autocast_during_eval', 'boolean', 'Use fp8 in evaluation, too.', { default: false }],
  ['margin', 'integer', 'Margin of the scaling factor.', { default: 0 }],
  ['interval', 'integer', 'Steps between new scaling factors.', { default: 1 }],
  ['format', 'string', 'fp8 format.', { values: ['HYBRID', 'E4M3', 'E5M2'], default: 'HYBRID' }],
  ['amax_history_len', 'integer', 'Length of the history of maxima.', { default: 1024 }],
  [
    'amax_compute_algo',
    'string',
    'How the history is reduced.',
    { values: ['max', 'most_recent'], default: 'most_recent' },
  ],
  ['override_linear_precision', 'any', 'Multiplications that stay in high precision.'],
  ['opt_level', 'string', 'MS-AMP level.', { values: ['O1', 'O2'], default: 'O2' }],
  ['enable_fsdp_float8_all_gather', 'boolean', 'Gather weights in fp8 (torchao).', { default: true }],
  ['pad_inner_dim', 'boolean', 'Pad the inner dimension (torchao).', { default: true }],
]);

const dynamo = prefixed('dynamo_config', 'dynamo_', LAUNCH, [
  [
    'backend',
    'string',
    'Backend of `torch.compile`; `NO` is off.',
    { default: 'NO', sets: 'kernels.compile', means: fusesBy },
  ],
  [
    'mode',
    'string',
    'What the compiler optimizes for.',
    {
      values: ['default', 'reduce-overhead', 'max-autotune'],
      default: 'default',
    },
  ],
  ['use_fullgraph', 'boolean', 'Refuse graph breaks.', { default: false }],
  ['use_dynamic', 'boolean', 'Trace dynamic shapes.', { default: false }],
  ['use_regional_compilation', 'boolean', 'Compile repeated layers once.', { default: false }],
]);

const mpirun = block('mpirun_config', LAUNCH, [
  ['mpirun_hostfile', 'string', 'Nodes.', { default: null }],
  ['mpirun_ccl', 'any', 'oneCCL workers.', { default: null }],
]);

/** Every key of an Accelerate config, read from its source at 1.15. */
export const ACCELERATE_KEYS: readonly KeySpec[] = [
  ...common,
  ...cluster,
  ...sagemaker,
  ...deepspeed,
  ...fsdp,
  ...parallelism,
  ...megatron,
  ...fp8,
  ...dynamo,
  ...mpirun,
];

export const ACCELERATE_TABLE = new KeyTable(ACCELERATE_KEYS, 'Accelerate', RELEASED);

const names = (keys: readonly KeySpec[]) => keys.map((spec) => spec.path);

/** Top-level keys that each environment accepts: any other one stops the launcher. */
export const CLUSTER_KEYS: ReadonlySet<string> = new Set([...names(common), ...names(cluster)]);
export const SAGEMAKER_KEYS: ReadonlySet<string> = new Set([...names(common), ...names(sagemaker)]);
