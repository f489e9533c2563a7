import RELEASES from '../../../data/framework-keys/verl.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { switchOf, textOf } from '../../config/scalar';
import { fileIn, VERL } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys, type Row, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { megatronCoreKeys, PARALLEL_SIZES } from '../megatron/core-rows';
import { ROUTER_LOGITS } from '../router-weight';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES), 'ppo', 'ppo_megatron', 'sft']);

const CONFIG = fileIn(VERL, 'verl/trainer/config/');
const PPO = `${CONFIG}ppo_trainer.yaml`;
const SFT = `${CONFIG}sft_trainer_engine.yaml`;
const SFT_OLD = `${CONFIG}sft_trainer.yaml`;
const ACTOR = `${CONFIG}actor/actor.yaml`;
const FSDP = `${CONFIG}engine/fsdp.yaml`;
const MEGATRON = `${CONFIG}engine/megatron.yaml`;
const MODEL = `${CONFIG}model/hf_model.yaml`;
const ROLLOUT = `${CONFIG}rollout/rollout.yaml`;

const dtype = (node: ConfigNode) => weightsDtypeOf(textOf(node));
/** Read only: the trainers have blocks of their own. */
const checkpointing = (node: ConfigNode) => switchOf(node, 'full', 'none');
const strategy = (node: ConfigNode) => switchOf(node, 'full', 'grad-op');

/** A default that a release of verl changed. */
type Changed = KeySpec['defaults'];

/** Since the release before which the default was another (`trainer/config/` at the tags: `ppo_trainer.yaml`, `model/hf_model.yaml`, `critic/dp_critic.yaml`, `actor/actor.yaml`). */
const since = (release: string, before: number | boolean, after: number | boolean): Changed => ({
  of: 'verl',
  before,
  since: release,
  after,
});
const UNPADDED_POLICY = since('0.7.0', false, true);
/** The dense trainers' critic: that of 0.7.1 still pads. */
const UNPADDED_CRITIC = since('0.8.0', false, true);
const NO_ENTROPY = since('0.4.0', 0.001, 0);

/** Rows of a model's block. */
const model = (unpadded: Changed): readonly Row[] => [
  ['fsdp_config', 'object', 'How FSDP shards.'],
  ['path', 'string', 'Model on the Hub or in a folder.', { sets: 'model.id' }],
  ['partial_pretrain', 'string', 'Model on the Hub or in a folder.', { sets: 'model.id' }],
  [
    'enable_gradient_checkpointing',
    'boolean',
    'Keep the input of each layer only, and compute the rest again in backward.',
    { default: true, sets: 'activations.checkpointing', means: checkpointing, assumes: true },
  ],
  [
    'enable_activation_offload',
    'boolean',
    'Kept activations wait in host memory.',
    { default: false, sets: 'activations.offload', assumes: true },
  ],
  [
    'use_remove_padding',
    'boolean',
    'Samples of a micro batch in one row without padding.',
    { default: true, defaults: unpadded, sets: 'batch.packed', assumes: true },
  ],
  [
    'lora_rank',
    'integer',
    'Rank of LoRA adapters; 0 trains all weights.',
    { default: 0, sets: 'lora.rank', fields: ['method.kind'] },
  ],
  [
    'lora_alpha',
    'number',
    'LoRA scaling numerator. Costs no memory.',
    { default: 16, sets: 'lora.alpha', assumes: true },
  ],
  ['target_modules', 'any', 'Modules that get adapters.', { default: 'all-linear', sets: 'lora.targets' }],
  ['exclude_modules', 'any', 'Modules that get no adapters.'],
  [
    'use_liger',
    'boolean',
    'Liger kernels, the fused loss apart.',
    { default: false, sets: 'kernels.liger', assumes: true },
  ],
  [
    'use_fused_kernels',
    'boolean',
    'Log-probabilities and entropy from the hidden states, chunk by chunk: no whole logits.',
    { default: false, fields: ['loss.implementation'] },
  ],
  ['override_config', 'object', "Fields of the model's config that are replaced."],
  [
    'override_config.attn_implementation',
    'string',
    'Attention kernel.',
    { default: 'flash_attention_2', fields: ['attention.implementation'] },
  ],
  [
    'override_config.output_router_logits',
    'boolean',
    ROUTER_LOGITS,
    { default: null, sets: 'loss.routerLogits' },
  ],
];

/** Rows of FSDP's block. */
const fsdp: readonly Row[] = [
  [
    'param_offload',
    'boolean',
    'Weights and gradients wait in host memory while others use the GPU. While this model trains they are on the GPU.',
    { default: false, fields: ['rollout.offload'] },
  ],
  [
    'optimizer_offload',
    'boolean',
    'Optimizer states wait in host memory while others use the GPU. While this model trains they are on the GPU.',
    { default: false, fields: ['rollout.offload'] },
  ],
  [
    'offload_policy',
    'boolean',
    'FSDP 2 keeps weights, gradients and states in host memory, while it trains, too.',
    { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
  ],
  [
    'reshard_after_forward',
    'boolean',
    'Gathered weights are let go of after the forward pass.',
    { default: true, sets: 'fsdp.strategy', means: strategy, assumes: true },
  ],
  [
    'use_no_sync_for_gradient_accumulation',
    'boolean',
    'Gradients are reduced with the last micro batch only, and lie whole on every GPU until then.',
    { default: false, fields: ['fsdp.syncEachBatch'] },
  ],
  [
    'fsdp_size',
    'integer',
    'GPUs that share one copy; -1 is all.',
    { default: -1, fields: ['parallel.replicate'] },
  ],
  [
    'model_dtype',
    'string',
    'Type of the sharded weights.',
    { default: 'fp32', sets: 'precision.weights', means: dtype, assumes: true },
  ],
  ['dtype', 'string', 'Type of the computation.', { values: ['bfloat16', 'float16'], default: 'bfloat16' }],
  [
    'use_orig_params',
    'boolean',
    'FSDP 1 shows the weights one by one.',
    { default: false, sets: 'fsdp.useOriginalParameters', assumes: true },
  ],
  [
    'forward_prefetch',
    'boolean',
    'FSDP 1 gathers the next unit during the forward pass.',
    { default: false },
  ],
  [
    'ulysses_sequence_parallel_size',
    'integer',
    'GPUs that share a sequence (Ulysses).',
    { default: 1, sets: 'parallel.ulysses', assumes: true },
  ],
  [
    'strategy',
    'string',
    'FSDP 1 or 2.',
    { values: ['fsdp', 'fsdp2'], default: 'fsdp', fields: ['parallel.data'] },
  ],
];

const optimizer: readonly Row[] = [
  ['optimizer', 'string', 'Class of the optimizer.', { default: 'AdamW', fields: ['optimizer.name'] }],
  [
    'optimizer_impl',
    'string',
    'Module that the class comes from.',
    { default: 'torch.optim', fields: ['optimizer.name'] },
  ],
  [
    'override_optimizer_config',
    'object',
    'Further arguments of the class, or of the optimizer of Megatron.',
    { fields: ['offload.optimizer', 'offload.optimizerRatio', 'precision.optimizerStates'] },
  ],
];

const megatron: readonly Row[] = [
  [
    'sequence_parallel',
    'boolean',
    'Sequence parallelism beside tensor parallelism.',
    { default: true, sets: 'parallel.sequence', assumes: true },
  ],
  [
    'use_distributed_optimizer',
    'boolean',
    'Optimizer states are sharded over the replicas.',
    { default: true, sets: 'parallel.distributedOptimizer', assumes: true },
  ],
  [
    'param_offload',
    'boolean',
    'Weights and gradients wait in host memory while others use the GPU. While this model trains they are on the GPU.',
    { default: false, fields: ['rollout.offload'] },
  ],
  [
    'use_remove_padding',
    'boolean',
    'Samples of a micro batch in one row without padding.',
    { default: true, sets: 'batch.packed', assumes: true, fields: ['batch.packed', 'batch.paddingFree'] },
  ],
  ['grad_offload', 'boolean', 'Gradients wait in host memory while others use the GPU.', { default: false }],
  [
    'optimizer_offload',
    'boolean',
    'Optimizer states wait in host memory while others use the GPU. While this model trains they are on the GPU.',
    { default: false, fields: ['rollout.offload'] },
  ],
  ['override_transformer_config', 'object', "Arguments of Megatron's transformer config."],
  [
    'override_transformer_config.recompute_granularity',
    'string',
    'What is computed again in backward.',
    { values: ['full', 'selective'], default: null, fields: ['activations.checkpointing'] },
  ],
  [
    'override_transformer_config.recompute_method',
    'string',
    'Which layers are computed again.',
    { default: null, fields: ['activations.checkpointing'] },
  ],
  [
    'override_transformer_config.recompute_num_layers',
    'integer',
    'Layers that are computed again.',
    { default: null, fields: ['activations.layers', 'activations.checkpointEvery'] },
  ],
  [
    'override_transformer_config.recompute_modules',
    'array',
    'Modules that are computed again.',
    { fields: ['activations.modules'] },
  ],
];

/** Rows of the value model: what they state holds in its own step. */
const ofCritic = (rows: readonly Row[]): readonly Row[] =>
  rows.map(([name, type, doc, extra]): Row => {
    // Which model it is decides nothing that is read of it: whether it is the policy's is compared.
    if (extra?.sets === 'model.id') return [name, type, doc];
    const own = extra?.sets ?? extra?.fields?.[0];
    return own === undefined || own === 'method.valueModel'
      ? [name, type, doc, extra]
      : [name, type, doc, { ...extra, fields: ['method.valueStep', own] } as Row[3]];
  });

const A = 'actor_rollout_ref';

/** Keys of verl (0.9, and those of before that say the same). */
export const VERL_KEYS: readonly KeySpec[] = [
  ...block('', PPO, [
    [A, 'object', 'The policy: its training, the engine that generates, the reference.'],
    ['critic', 'object', 'The value model of PPO.'],
    ['algorithm', 'object', 'How advantages are estimated.'],
    ['trainer', 'object', 'Machines and steps.'],
    ['data', 'object', 'Lengths and batches.'],
    ['model', 'object', 'The model of supervised fine-tuning.'],
    ['engine', 'object', 'What trains, in supervised fine-tuning.'],
    ['optim', 'object', 'Optimizer of supervised fine-tuning.'],
    [
      'ulysses_sequence_parallel_size',
      'integer',
      'GPUs that share a sequence (Ulysses).',
      { default: 1, sets: 'parallel.ulysses', assumes: true },
    ],
    [
      'use_remove_padding',
      'boolean',
      'Samples of a micro batch in one row without padding.',
      { default: false, sets: 'batch.packed', assumes: SFT_OLD },
    ],
  ]),
  ...inertKeys(
    '',
    PPO,
    'Block of verl that costs no GPU memory of training.',
    {
      released: `reward reward_model custom_reward_function sandbox_fusion ray_kwargs global_profiler transfer_queue
      distillation checkpoint skip actor_rollout_ref.nccl_timeout
      trainer.balance_batch`,
      any: `defaults reward_manager profiler hydra model_engine nccl_timeout npu_profile`,
    },
    RELEASED,
  ),
  ...releasedBlock('data', PPO, RELEASED, [
    ['max_prompt_length', 'Longest prompt.', { fields: ['batch.sequence'] }],
    [
      'max_response_length',
      'Longest response.',
      { sets: 'rollout.completion', assumes: true, fields: ['batch.sequence', 'rollout.completion'] },
    ],
    [
      'train_batch_size',
      'Prompts per round of generation; in supervised fine-tuning samples per optimizer step.',
      { default: undefined, sets: 'batch.global' },
    ],
  ]),
  ...releasedBlock('data', SFT, RELEASED, [
    ['max_length', 'Tokens of the longest sample.', { sets: 'batch.sequence', assumes: true }],
    ['micro_batch_size_per_gpu', 'Samples per GPU and forward pass.', { sets: 'batch.micro', assumes: true }],
    [
      'max_token_len_per_gpu',
      'Tokens per GPU and forward pass where batches are made by tokens.',
      { fields: ['batch.sequence'] },
    ],
    [
      'use_dynamic_bsz',
      'Micro batches are filled by tokens, not by samples.',
      { fields: ['batch.micro', 'batch.sequence'] },
    ],
  ]),
  ...releasedBlock('trainer', PPO, RELEASED, [
    ['n_gpus_per_node', 'GPUs per machine.', { fields: ['hardware.gpus'] }],
    ['nnodes', 'Machines.', { sets: 'hardware.nodes', assumes: true, fields: ['hardware.gpus'] }],
    ['total_training_steps', 'Optimizer steps of the run.', { type: 'integer', sets: 'schedule.steps' }],
    ['total_epochs', 'Passes over the data.', { default: undefined }],
    ['save_freq', 'Steps between checkpoints; -1 is none.', { default: undefined }],
    ['test_freq', 'Steps between validations; -1 is none.', { default: undefined }],
  ]),
  ...releasedBlock('algorithm', PPO, RELEASED, [
    [
      'adv_estimator',
      'How advantages are estimated; `gae` trains a value model.',
      { fields: ['method.objective', 'method.valueModel'] },
    ],
    ['use_kl_in_reward', 'The distance to the reference is part of the reward.'],
  ]),
  ...block(A, PPO, [
    ['model', 'object', 'The model that is trained.'],
    ['actor', 'object', 'How the policy trains.'],
    ['rollout', 'object', 'The engine that generates.'],
    ['ref', 'object', 'The reference. Its weights wait in host memory.'],
  ]),
  ...releasedBlock('critic', PPO, RELEASED, [
    ['model', 'The value model of PPO.'],
    ['fsdp', 'How FSDP shards.'],
  ]),
  ...block(`${A}.model`, MODEL, model(UNPADDED_POLICY)),
  ...block('critic.model', `${CONFIG}critic/dp_critic.yaml`, ofCritic(model(UNPADDED_CRITIC))),
  ...block('model', MODEL, [
    ...model(UNPADDED_POLICY),
    [
      'strategy',
      'string',
      'FSDP 1 or 2, in the older trainer.',
      { values: ['fsdp', 'fsdp2'], default: 'fsdp2', fields: ['parallel.data'] },
    ],
  ]),
  ...block(`${A}.actor`, ACTOR, [
    [
      'strategy',
      'string',
      'What trains.',
      {
        values: ['fsdp', 'fsdp2', 'megatron', 'veomni', 'torchtitan'],
        default: 'fsdp',
        fields: ['parallel.data'],
      },
    ],
    [
      'ppo_mini_batch_size',
      'integer',
      'Prompts per optimizer step, each with all of its responses.',
      { default: 256, fields: ['batch.global'] },
    ],
    ['ppo_micro_batch_size_per_gpu', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    [
      'ppo_micro_batch_size',
      'integer',
      'Samples per forward pass over all GPUs.',
      {
        fields: ['batch.micro'],
        deprecated: 'actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu',
      },
    ],
    [
      'use_dynamic_bsz',
      'boolean',
      'Micro batches are filled by tokens, not by samples.',
      { default: false, fields: ['batch.micro', 'batch.sequence'] },
    ],
    [
      'ppo_max_token_len_per_gpu',
      'integer',
      'Tokens per GPU and forward pass where batches are made by tokens.',
      { default: 16384, fields: ['batch.sequence'] },
    ],
    [
      'entropy_coeff',
      'number',
      'Weight of the entropy in the loss; not 0 keeps the logits longer.',
      { default: 0, defaults: NO_ENTROPY, fields: ['loss.implementation'] },
    ],
    [
      'calculate_entropy',
      'boolean',
      'The entropy is computed, whatever its weight.',
      { default: false, fields: ['loss.implementation'] },
    ],
    ['use_kl_loss', 'boolean', 'The distance to the reference is part of the loss.', { default: false }],
    [
      'ulysses_sequence_parallel_size',
      'integer',
      'GPUs that share a sequence (Ulysses).',
      { default: 1, sets: 'parallel.ulysses', assumes: true },
    ],
    ['fsdp_config', 'object', 'How FSDP shards.'],
    ['megatron', 'object', "Megatron's parallelism."],
    ['optim', 'object', 'Optimizer.'],
  ]),
  ...block(`${A}.actor.fsdp_config`, FSDP, fsdp),
  ...block('engine', FSDP, fsdp),
  ...block('model.fsdp_config', SFT_OLD, [
    ...fsdp.filter(([name]) => name === 'model_dtype'),
    [
      'cpu_offload',
      'boolean',
      'FSDP keeps what `offload_params` states in host memory, while it trains, too.',
      { default: false, fields: ['offload.parameters'] },
    ],
    [
      'offload_params',
      'boolean',
      'With `cpu_offload`: weights wait in host memory.',
      { default: false, fields: ['offload.parameters'] },
    ],
  ]),
  ...block('critic.model.fsdp_config', FSDP, ofCritic(fsdp)),
  ...block('critic.fsdp', FSDP, ofCritic(fsdp)),
  ...megatronCoreKeys(`${A}.actor.megatron`, MEGATRON, ...PARALLEL_SIZES, 'expert_tensor_parallel_size'),
  ...block(`${A}.actor.megatron`, MEGATRON, megatron),
  ...megatronCoreKeys('critic.megatron', MEGATRON, ...PARALLEL_SIZES, 'expert_tensor_parallel_size'),
  ...block('critic.megatron', MEGATRON, ofCritic(megatron)),
  ...block(`${A}.actor.optim`, `${CONFIG}optim/fsdp.yaml`, optimizer),
  ...block('optim', `${CONFIG}optim/fsdp.yaml`, optimizer),
  ...block(A, PPO, [
    [
      'hybrid_engine',
      'boolean',
      'What generates and what is trained share the GPUs; trainers with an engine on others take `False`.',
      { default: true, fields: ['rollout.engine'] },
    ],
  ]),
  ...block(`${A}.rollout`, ROLLOUT, [
    [
      'name',
      'string',
      'Engine that generates.',
      // `sglang_async` until 0.4.1, which takes it for `sglang` and warns.
      { values: ['vllm', 'sglang', 'hf', 'trtllm', 'sglang_async'], fields: ['rollout.engine'] },
    ],
    ['n', 'integer', 'Responses per prompt.', { default: 1, fields: ['batch.global'] }],
    [
      'gpu_memory_utilization',
      'number',
      'Share of the GPU that the engine takes while it generates.',
      { default: 0.5, sets: 'hardware.reservedFraction', assumes: true },
    ],
    [
      'free_cache_engine',
      'boolean',
      'The engine gives its memory back while the policy trains.',
      { default: true, sets: 'rollout.sleep', assumes: true },
    ],
    [
      'tensor_model_parallel_size',
      'integer',
      'GPUs that share one copy of the weights while they generate. Costs no memory of training.',
      { default: 2, sets: 'rollout.tensor', assumes: true },
    ],
    [
      'quantization',
      'string',
      'How vLLM quantizes the weights.',
      { default: null, fields: ['rollout.quantized'] },
    ],
    [
      'data_parallel_size',
      'integer',
      'Copies of the engine that share experts. Costs no memory of training.',
      { default: 1 },
    ],
    [
      'pipeline_model_parallel_size',
      'integer',
      'GPUs that generate one after another. Costs no memory of training.',
      { default: 1 },
    ],
    [
      'expert_parallel_size',
      'integer',
      'GPUs that share the experts while they generate. Costs no memory of training.',
      { default: 1 },
    ],
    [
      'nnodes',
      'integer',
      'Machines that only generate; 0 is none.',
      { default: 0, fields: ['rollout.engine'] },
    ],
    [
      'log_prob_micro_batch_size_per_gpu',
      'integer',
      'Samples per GPU when responses are scored, without a backward pass.',
    ],
  ]),
  ...block('critic', `${CONFIG}critic/critic.yaml`, [
    [
      'enable',
      'boolean',
      'Whether a value model is trained. Unset: with `gae`.',
      { default: null, fields: ['method.valueModel'] },
    ],
    ['strategy', 'string', 'What trains the value model.', { default: 'fsdp', fields: ['method.valueStep'] }],
    [
      'ppo_micro_batch_size_per_gpu',
      'integer',
      'Samples of the value model per GPU and forward pass.',
      { sets: 'batch.micro', fields: ['method.valueStep', 'batch.micro'] },
    ],
    [
      'ppo_micro_batch_size',
      'integer',
      'Samples of the value model per forward pass over all GPUs.',
      { fields: ['method.valueStep'], deprecated: 'critic.ppo_micro_batch_size_per_gpu' },
    ],
    [
      'ppo_mini_batch_size',
      'integer',
      "Prompts per optimizer step of the value model. Unset: the policy's.",
      { fields: ['method.valueStep'] },
    ],
    [
      'use_dynamic_bsz',
      'boolean',
      'Micro batches of the value model are filled by tokens. Unset: as those of the policy.',
      { fields: ['method.valueStep'] },
    ],
    [
      'ppo_max_token_len_per_gpu',
      'integer',
      'Tokens of the value model per GPU and forward pass where batches are made by tokens.',
      { default: 32768, fields: ['method.valueStep'] },
    ],
    [
      'ulysses_sequence_parallel_size',
      'integer',
      'GPUs that share a sequence of the value model (Ulysses).',
      {
        default: 1,
        sets: 'parallel.ulysses',
        assumes: true,
        fields: ['method.valueStep', 'parallel.ulysses'],
      },
    ],
    ['megatron', 'object', "Megatron's parallelism of the value model."],
    ['optim', 'object', 'Optimizer of the value model.'],
  ]),
  ...block('critic.optim', `${CONFIG}optim/fsdp.yaml`, ofCritic(optimizer)),
];

export const VERL_TABLE = new KeyTable(VERL_KEYS, 'verl', RELEASED);
