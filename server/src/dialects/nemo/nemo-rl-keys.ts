import RELEASES from '../../../data/framework-keys/nemo-rl.jsonl' with { type: 'text' };
import { fileIn, NEMO_RL } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { ATTENTION } from '../hf/attention';
import { block, inertKeys, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import { happens } from '../key-value';
import { megatronCoreKeys, PARALLEL_SIZES } from '../megatron/core-rows';
import { ROUTER_LOGITS } from '../router-weight';

/** What the releases, and the configs that they bring, have of keys: those that no row has are known, and cost nothing. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)]);
const SOURCE = fileIn(NEMO_RL, 'nemo_rl/models/policy/__init__.py');
const CONFIG = fileIn(NEMO_RL, 'examples/configs/grpo_math_1B.yaml');

const INERT = 'Setting of NeMo-RL that costs no GPU memory of training.';

/** Adapters, in the blocks of both backends. */
const LORA: readonly Row[] = [
  ['enabled', 'boolean', 'Adapters are trained.', { fields: ['method.kind'] }],
  ['dim', 'integer', 'Rank.', { sets: 'lora.rank' }],
  ['alpha', 'number', 'Scaling.', { sets: 'lora.alpha' }],
  ['dropout', 'number', 'Dropout on the input of adapters.', { sets: 'lora.dropout' }],
  ['target_modules', 'array', 'Modules that get adapters.', { sets: 'lora.targets' }],
  ['exclude_modules', 'any', 'Modules that get none.', { fields: ['lora.targets', 'lora.exclude'] }],
  ['match_all_linear', 'boolean', 'Every linear layer gets an adapter.', { fields: ['lora.targets'] }],
];

/** Switches of a model that sees or hears, which Megatron-Bridge takes. */
const FROZEN_PARTS = [
  'freeze_config',
  'freeze_language_model',
  'freeze_vision_model',
  'freeze_vision_projection',
  'freeze_sound_encoder',
  'freeze_sound_projection',
];

/** Blocks of the algorithms. */
const ALGORITHMS = ['grpo', 'dpo', 'sft', 'rm', 'ppo', 'distillation'];

/** Keys of NeMo-RL. */
export const NEMO_RL_KEYS: readonly KeySpec[] = [
  ...block('', CONFIG, [
    ['defaults', 'any', 'The config that this one starts from; what stands here counts before it.'],
    ['policy', 'object', 'The model that is trained, its batch, its backend.'],
    ['cluster', 'object', 'Machines.'],
    [
      'grpo',
      'object',
      'GRPO.',
      { fields: ['method.objective', 'method.referenceModel', 'schedule.steps', 'evaluation.enabled'] },
    ],
    [
      'dpo',
      'object',
      'DPO.',
      { fields: ['method.objective', 'method.referenceModel', 'schedule.steps', 'evaluation.enabled'] },
    ],
    [
      'sft',
      'object',
      'Supervised fine-tuning.',
      { fields: ['method.objective', 'method.referenceModel', 'schedule.steps', 'evaluation.enabled'] },
    ],
    [
      'rm',
      'object',
      'A reward model.',
      { fields: ['method.objective', 'method.referenceModel', 'schedule.steps', 'evaluation.enabled'] },
    ],
    [
      'ppo',
      'object',
      'PPO.',
      { fields: ['method.objective', 'method.referenceModel', 'schedule.steps', 'evaluation.enabled'] },
    ],
    [
      'distillation',
      'object',
      'Distillation.',
      { fields: ['method.objective', 'method.referenceModel', 'schedule.steps', 'evaluation.enabled'] },
    ],
    ['teacher', 'object', 'The model that is learned from.'],
    ['teachers', 'array', 'Models that are learned from, across tokenizers.'],
    ['value', 'object', 'The value model of PPO.'],
  ]),
  ...inertKeys('', CONFIG, 'Block of NeMo-RL that costs no GPU memory of training.', {
    any: 'loss_fn checkpointing data env logger reward_penalties data_plane on_policy_distillation',
  }),
  ...inertKeys('policy', SOURCE, INERT, {
    any: 'make_sequence_length_divisible_by sequence_packing.sequence_length_round sequence_packing.microbatch_order',
  }),
  ...inertKeys('policy.megatron_cfg', SOURCE, INERT, {
    any: 'pipeline_dtype moe_router_dtype checkpoint peft.lora_A_init_method peft.lora_B_init_method peft.lora_dtype',
  }),
  ...inertKeys('policy.dtensor_cfg.lora_cfg', SOURCE, INERT, { any: 'lora_A_init' }),
  // What generates, and what judges it, is set up by settings of vLLM and its like.
  ...['policy.generation', 'policy.generation.vllm_cfg', 'env.nemo_gym'].flatMap((parent) =>
    inertKeys(parent, SOURCE, INERT, { any: '*' }),
  ),
  ...block('policy.megatron_cfg', SOURCE, [
    [
      'env_vars',
      'object',
      'Environment of the processes that train.',
      { default: null, fields: ['allocator.expandableSegments'] },
    ],
    ...FROZEN_PARTS.map(
      (name): Row => [name, 'any', 'Parts that are not trained.', { brings: 'frozen-modules' }],
    ),
    ...['first_last_layers_bf16', 'num_layers_at_start_in_bf16', 'num_layers_at_end_in_bf16'].map(
      (name): Row => [name, 'any', 'Layers that stay bf16 beside fp8.', { brings: 'fp8-training' }],
    ),
  ]),
  ...['grpo', 'dpo', 'sft'].flatMap((algorithm) =>
    inertKeys(algorithm, CONFIG, INERT, {
      any: 'val_batch_size val_batches val_global_batch_size val_micro_batch_size batch_multiplier dynamic_sampling_max_gen_batches',
    }),
  ),
  ...block('cluster', CONFIG, [
    ['gpus_per_node', 'integer', 'GPUs per machine.', { fields: ['hardware.gpus'] }],
    ['num_nodes', 'integer', 'Machines.', { fields: ['hardware.nodes', 'hardware.gpus'] }],
  ]),
  ...block('policy', SOURCE, [
    ['quant_cfg', 'any', 'Weights are rounded while they train (ModelOpt).', { brings: 'fake-quantization' }],
    ['draft', 'object', 'A draft model that trains beside the policy.', { brings: 'model-beside' }],
    [
      'activation_checkpointing_enabled',
      'boolean',
      'Recompute layers in backward, until release 0.4.',
      { fields: ['activations.checkpointing'] },
    ],
    [
      'fsdp_offload_enabled',
      'boolean',
      'Weights and states lie in host memory, until release 0.4.',
      { fields: ['offload.parameters', 'offload.optimizer', 'parallel.data'] },
    ],
    ['model_name', 'string', 'Model on the Hub.', { sets: 'model.id' }],
    [
      'hf_config_overrides',
      'object',
      "Fields of the model's config that are replaced.",
      { fields: ['model.changes'] },
    ],
    ['hf_config_overrides.output_router_logits', 'boolean', ROUTER_LOGITS, { fields: ['loss.routerLogits'] }],
    ['train_micro_batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ['train_global_batch_size', 'integer', 'Samples per step over all GPUs.', { sets: 'batch.global' }],
    ['max_total_sequence_length', 'integer', 'Tokens of prompt and answer.', { sets: 'batch.sequence' }],
    [
      'precision',
      'string',
      'Type of products; weights stay fp32 under FSDP.',
      {
        values: ['float32', 'bfloat16', 'float16'],
        fields: ['precision.compute', 'precision.weights', 'precision.scheme'],
      },
    ],
    ['dtensor_cfg', 'object', 'FSDP 2.', { fields: ['parallel.data', 'precision.scheme'] }],
    ['megatron_cfg', 'object', 'Megatron-Core.', { fields: ['parallel.data'] }],
    ['dynamic_batching', 'object', 'Micro batches by tokens.'],
    [
      'sequence_packing',
      'object',
      'Rows by tokens.',
      { fields: ['batch.packed', 'batch.micro', 'batch.sequence'] },
    ],
    [
      'optimizer',
      'object',
      'Optimizer of FSDP 2, by class.',
      { default: null, fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
    ['generation', 'object', 'What generates.', { fields: ['rollout.engine'] }],
    ['logprob_batch_size', 'integer', 'Samples per pass without gradients.'],
    ['generation_batch_size', 'integer', 'Samples that transformers generates at a time.'],
  ]),
  ...block('policy.dtensor_cfg', SOURCE, [
    [
      'env_vars',
      'object',
      'Environment of the processes that train.',
      { default: null, fields: ['allocator.expandableSegments'] },
    ],
    ['enabled', 'boolean', 'FSDP 2 trains.', { fields: ['parallel.data'] }],
    ['tensor_parallel_size', 'integer', 'Tensor-parallel size.', { sets: 'parallel.tensor', least: 1 }],
    ['context_parallel_size', 'integer', 'Context-parallel size.', { sets: 'parallel.context', least: 1 }],
    [
      'expert_parallel_size',
      'integer',
      'Expert-parallel size.',
      { default: 1, sets: 'parallel.expert', least: 1 },
    ],
    [
      'dp_replicate_size',
      'integer',
      'Replicas of hybrid sharding.',
      { default: 1, sets: 'parallel.replicate' },
    ],
    ['sequence_parallel', 'boolean', 'Norms work on a part of the sequence.', { sets: 'parallel.sequence' }],
    [
      'activation_checkpointing',
      'any',
      'Recompute layers in backward.',
      { fields: ['activations.checkpointing'] },
    ],
    [
      'cpu_offload',
      'boolean',
      'Weights and states lie in host memory.',
      { fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    ['automodel_kwargs', 'object', 'Arguments that Automodel makes the model with.'],
    [
      'lora_cfg',
      'object',
      'Adapters.',
      { fields: ['method.kind', 'lora.rank', 'lora.alpha', 'lora.dropout', 'lora.targets'] },
    ],
  ]),
  ...block('policy.dtensor_cfg.automodel_kwargs', SOURCE, [
    [
      'freeze_config',
      'object',
      'Parts of a model that sees or hears which are not trained.',
      { fields: ['method.kind', 'method.trainable', 'lora.exclude'] },
    ],
    ['attn_implementation', 'string', 'Attention kernel.', ATTENTION],
    ['use_liger_kernel', 'boolean', 'Liger kernels.', { sets: 'kernels.liger' }],
  ]),
  ...block('policy.optimizer', SOURCE, [
    ['name', 'string', 'Class of the optimizer.', { fields: ['optimizer.name', 'optimizer.implementation'] }],
    ['kwargs', 'object', 'Its arguments.', { fields: ['optimizer.name', 'optimizer.implementation'] }],
  ]),
  ...block('policy.optimizer.kwargs', SOURCE, [
    [
      'master_weights',
      'boolean',
      "Transformer Engine's Adam keeps a master of each weight.",
      { default: false, fields: ['optimizer.extraStates'] },
    ],
    [
      'exp_avg_dtype',
      'string',
      "Type of the first state in Transformer Engine's Adam.",
      { default: 'torch.float32', fields: ['precision.optimizerStates', 'features.unmodelled'] },
    ],
    [
      'exp_avg_sq_dtype',
      'string',
      "Type of the second state in Transformer Engine's Adam.",
      { default: 'torch.float32', fields: ['precision.optimizerStates', 'features.unmodelled'] },
    ],
  ]),
  ...block('policy.dtensor_cfg.lora_cfg', SOURCE, LORA),
  ...block('policy.megatron_cfg.peft', SOURCE, LORA),
  ...ALGORITHMS.flatMap((algorithm) =>
    block(algorithm, CONFIG, [
      [
        'max_num_steps',
        'integer',
        'Steps of the whole run at most: of generation each takes as many optimizer steps as global batches are in its samples.',
        { fields: ['schedule.steps'] },
      ],
      ['max_num_epochs', 'integer', 'Passes over the data at most.'],
      [
        'val_period',
        'integer',
        'Steps between validations; 0: none.',
        { sets: 'evaluation.enabled', means: happens },
      ],
    ]),
  ),
  ...['grpo', 'ppo', 'distillation'].flatMap((algorithm) =>
    block(algorithm, CONFIG, [
      ['num_prompts_per_step', 'integer', 'Prompts of a step.', { fields: ['schedule.steps'] }],
      ['num_generations_per_prompt', 'integer', 'Completions of each.', { fields: ['schedule.steps'] }],
    ]),
  ),
  ...block('ppo', CONFIG, [
    ['ppo_epochs', 'integer', 'Passes over the samples of a step.', { fields: ['schedule.steps'] }],
  ]),
  ...block('policy.megatron_cfg', SOURCE, [
    ['enabled', 'boolean', 'Megatron-Core trains.', { fields: ['model.code', 'parallel.data'] }],
  ]),
  ...megatronCoreKeys(
    'policy.megatron_cfg',
    SOURCE,
    ...PARALLEL_SIZES,
    'expert_tensor_parallel_size',
    'sequence_parallel',
  ),
  ...block('policy.megatron_cfg', SOURCE, [
    [
      'num_layers_in_first_pipeline_stage',
      'integer',
      'Layers of the first stage.',
      { default: null, sets: 'parallel.firstStageLayers' },
    ],
    [
      'num_layers_in_last_pipeline_stage',
      'integer',
      'Layers of the last stage.',
      { default: null, sets: 'parallel.lastStageLayers' },
    ],
    [
      'activation_checkpointing',
      'boolean',
      'Recompute in backward.',
      { fields: ['activations.checkpointing'] },
    ],
    [
      'recompute_granularity',
      'string',
      'Whole layers, or parts of them.',
      { values: ['full', 'selective'], default: 'full', fields: ['activations.checkpointing'] },
    ],
    [
      'recompute_modules',
      'array',
      'Parts that are computed again.',
      { default: null, fields: ['activations.modules'] },
    ],
    [
      'optimizer',
      'object',
      "Megatron's optimizer.",
      {
        fields: [
          'optimizer.name',
          'optimizer.implementation',
          'parallel.distributedOptimizer',
          'precision.optimizerStates',
          'precision.masterWeights',
          'optimizer.precisionAware',
          'offload.optimizer',
          'offload.optimizerRatio',
        ],
      },
    ],
    [
      'distributed_data_parallel_config',
      'object',
      'Reduction of gradients.',
      { fields: ['precision.gradientAccumulation'] },
    ],
    [
      'peft',
      'object',
      'Adapters.',
      { fields: ['method.kind', 'lora.rank', 'lora.alpha', 'lora.dropout', 'lora.targets'] },
    ],
    ['fp8_cfg', 'object', 'fp8 products.', { fields: ['precision.fp8'] }],
    ['mtp_num_layers', 'integer', 'Layers that predict further tokens.', { fields: ['features.unmodelled'] }],
    [
      'moe_grouped_gemm',
      'boolean',
      'The experts of a GPU run as one grouped product.',
      { fields: ['kernels.groupedExperts'] },
    ],
  ]),
  ...block('env', SOURCE, [['nemo_gym', 'object', 'An environment of NeMo Gym.']]),
  ...block('env.nemo_gym', SOURCE, [
    [
      'num_gpu_nodes',
      'integer',
      'Nodes that the environment takes.',
      { fields: ['hardware.gpus', 'hardware.nodes'] },
    ],
  ]),
  ...block('policy.sequence_packing', SOURCE, [
    ['enabled', 'boolean', 'Rows hold as many samples as fit.', { fields: ['batch.packed'] }],
  ]),
  ...block('policy.generation.colocated', SOURCE, [
    [
      'enabled',
      'boolean',
      'Generation shares the GPUs of training.',
      { fields: ['rollout.engine', 'hardware.gpus', 'hardware.nodes'] },
    ],
    ['resources', 'object', 'What generates alone.', { fields: ['hardware.gpus', 'hardware.nodes'] }],
  ]),
  ...block('policy.generation.colocated.resources', SOURCE, [
    ['num_nodes', 'integer', 'Nodes that only generate.', { fields: ['hardware.gpus', 'hardware.nodes'] }],
    ['gpus_per_node', 'integer', 'GPUs of each of them.', { fields: ['hardware.gpus'] }],
  ]),
  ...block('policy.generation', SOURCE, [
    [
      'backend',
      'string',
      'What generates.',
      { fields: ['rollout.engine', 'rollout.offload', 'rollout.sleep'] },
    ],
    ['max_new_tokens', 'integer', 'Longest answer.', { sets: 'rollout.completion' }],
    [
      'colocated',
      'object',
      'Whether generation shares the GPUs of training.',
      { fields: ['rollout.engine'] },
    ],
    ['vllm_cfg', 'object', 'Settings of vLLM.', { fields: ['rollout.tensor'] }],
  ]),
  ...block('policy.generation.vllm_cfg', SOURCE, [
    ['tensor_parallel_size', 'integer', 'GPUs of one copy of the model.', { sets: 'rollout.tensor' }],
  ]),
];

export const NEMO_RL_TABLE = new KeyTable(NEMO_RL_KEYS, 'NeMo-RL', RELEASED);
