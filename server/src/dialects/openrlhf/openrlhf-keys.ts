import RELEASES from '../../../data/framework-keys/openrlhf.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import { OPENRLHF } from './openrlhf-repository';

/** What the releases have of the keys. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)]);

const CLI = fileIn(OPENRLHF, 'openrlhf/cli/');
const SFT = `${CLI}train_sft.py`;
const PPO = `${CLI}train_ppo_ray.py`;

/** A flag under its dotted name, and under those that it had before 2026. */
function flag(
  [name, ...older]: readonly [string, ...string[]],
  type: Row[1],
  doc: string,
  extra: Row[3] = {},
): Row[] {
  const others = older.map((other): Row => [other, type, doc, { ...extra, alias: name }]);
  return [[name, type, doc, extra], ...others];
}

const dtype = (node: ConfigNode) => weightsDtypeOf(textOf(node));

const common: readonly Row[] = [
  ...flag(
    ['model.model_name_or_path', 'actor.model_name_or_path', 'pretrain'],
    'string',
    'Model that is trained.',
    {
      sets: 'model.id',
    },
  ),
  ...flag(
    ['train.micro_batch_size', 'micro_train_batch_size'],
    'integer',
    'Samples per GPU and forward pass.',
    {
      sets: 'batch.micro',
    },
  ),
  ...flag(['train.batch_size', 'train_batch_size'], 'integer', 'Samples per optimizer step over all GPUs.', {
    default: 128,
    sets: 'batch.global',
    assumes: true,
  }),
  ...flag(['data.max_len', 'max_len'], 'integer', 'Tokens per sample, prompt and answer together.', {
    sets: 'batch.sequence',
  }),
  ...flag(['ds.packing_samples', 'packing_samples'], 'boolean', 'Samples without padding in one row.', {
    default: false,
    sets: 'batch.packed',
    assumes: true,
  }),
  ...flag(['ds.zero_stage', 'zero_stage'], 'integer', 'ZeRO stage.', {
    default: 2,
    sets: 'zero.stage',
    assumes: true,
  }),
  ...flag(['ds.zpg', 'zpg'], 'integer', 'ZeRO++: GPUs that share a second copy of the weights.', {
    default: 1,
    sets: 'zero.hpzPartition',
    assumes: true,
  }),
  ...flag(['ds.param_dtype'], 'string', 'Type of weights and computation.', {
    values: ['bf16', 'fp16'],
    default: 'bf16',
    fields: ['precision.weights', 'precision.compute'],
  }),
  ...flag(['bf16'], 'boolean', 'Weights and computation in bf16.', {
    fields: ['precision.weights', 'precision.compute'],
  }),
  ...flag(['ds.grad_accum_dtype', 'grad_accum_dtype'], 'string', 'Type that gradients are accumulated in.', {
    default: null,
    sets: 'precision.gradientAccumulation',
    means: dtype,
  }),
  ...flag(['ds.adam_offload', 'adam_offload'], 'boolean', 'Optimizer states in host memory.', {
    default: false,
    sets: 'offload.optimizer',
    spellings: { cpu: true, none: false },
    assumes: true,
  }),
  ...flag(['ds.overlap_comm', 'overlap_comm'], 'boolean', 'Reduction overlaps backward.', {
    default: false,
    sets: 'zero.overlapCommunication',
    assumes: true,
  }),
  ...flag(['ds.attn_implementation', 'attn_implementation'], 'string', 'Attention kernel.', {
    default: 'flash_attention_2',
    fields: ['attention.implementation'],
  }),
  ...flag(['flash_attn'], 'boolean', 'FlashAttention 2; without it eager attention.', {
    fields: ['attention.implementation'],
  }),
  ...flag(['ds.use_liger_kernel', 'use_liger_kernel'], 'boolean', 'Liger kernels.', {
    default: false,
    sets: 'kernels.liger',
    assumes: true,
  }),
  ...flag(
    ['model.gradient_checkpointing_enable', 'actor.gradient_checkpointing_enable', 'gradient_checkpointing'],
    'boolean',
    'Keep the input of each layer only, and compute the rest again in backward.',
    {
      default: false,
      sets: 'activations.checkpointing',
      spellings: { full: true, none: false },
      assumes: true,
    },
  ),
  ...flag(
    [
      'model.gradient_checkpointing_reentrant',
      'actor.gradient_checkpointing_reentrant',
      'gradient_checkpointing_use_reentrant',
    ],
    'boolean',
    'Reentrant checkpointing.',
    { default: false, sets: 'activations.reentrant', assumes: true },
  ),
  ...flag(['ds.load_in_4bit', 'load_in_4bit'], 'boolean', 'Frozen base weights in 4 bits.', {
    default: false,
    fields: ['quantization.kind'],
  }),
  ...flag(['ds.lora.rank', 'lora_rank'], 'integer', 'Rank of the LoRA matrices; 0 trains all weights.', {
    default: 0,
    sets: 'lora.rank',
    fields: ['method.kind'],
  }),
  ...flag(['ds.lora.alpha', 'lora_alpha'], 'number', 'LoRA scaling numerator. Costs no memory.', {
    default: 16,
    sets: 'lora.alpha',
    assumes: true,
  }),
  ...flag(['ds.lora.dropout', 'lora_dropout'], 'number', 'Dropout on the adapter input.', {
    default: 0,
    sets: 'lora.dropout',
    assumes: true,
  }),
  ...flag(['ds.lora.target_modules', 'target_modules'], 'any', 'Modules that get an adapter.', {
    default: 'all-linear',
    fields: ['lora.targets'],
  }),
  ...flag(
    ['ds.ring_attn_size', 'ring_attn_size'],
    'integer',
    'GPUs that share a sequence in a ring. Needs packing.',
    {
      default: 1,
      sets: 'parallel.context',
      assumes: true,
    },
  ),
  ...flag(['ds.tensor_parallel_size', 'ds_tensor_parallel_size'], 'integer', 'Tensor-parallel size.', {
    default: 1,
    sets: 'parallel.tensor',
    assumes: true,
  }),
  ...flag(['ds.deepcompile', 'deepcompile'], 'boolean', 'DeepCompile.', {
    default: false,
    fields: ['kernels.compile'],
  }),
  ...flag(['optim', 'actor.optim'], 'string', 'Optimizer.', {
    values: ['adam', 'muon'],
    default: 'adam',
    fields: ['optimizer.name'],
  }),
  ...flag(['model.ipo_enable', 'ipo'], 'boolean', 'IPO instead of DPO.', {
    default: false,
    fields: ['method.objective'],
  }),
];

const ppo: readonly Row[] = [
  ...flag(['prompt_max_len'], 'integer', 'Longest prompt.', { fields: ['batch.sequence'] }),
  ...flag(['rollout.max_new_tokens', 'generate_max_len'], 'integer', 'Longest answer.', {
    sets: 'rollout.completion',
    fields: ['batch.sequence'],
  }),
  ...flag(['actor.num_nodes', 'actor_num_nodes'], 'integer', 'Machines of the trained model.', {
    default: 1,
    sets: 'hardware.nodes',
    assumes: true,
  }),
  ...flag(['actor.num_gpus_per_node', 'actor_num_gpus_per_node'], 'integer', 'GPUs of each of them.', {
    default: 8,
    fields: ['hardware.gpus'],
  }),
  ...flag(
    ['train.colocate_all', 'colocate_all_models'],
    'boolean',
    'All models share the GPUs of the trained one.',
    { default: false, fields: ['method.referenceModel', 'method.valueModel', 'rollout.engine'] },
  ),
  ...flag(
    ['train.async_enable', 'async_train'],
    'boolean',
    'Generate the next completions while this step trains: vLLM has GPUs of its own.',
    { default: false, fields: ['rollout.engine'] },
  ),
  ...flag(
    ['train.colocate_actor_ref', 'colocate_actor_ref'],
    'boolean',
    'The reference shares the GPUs of the trained model.',
    { default: false, fields: ['method.referenceModel'] },
  ),
  ...flag(['vllm.num_engines', 'vllm_num_engines'], 'integer', 'vLLM engines that generate.', {
    fields: ['rollout.engine'],
  }),
  ...flag(
    ['vllm.gpu_memory_utilization', 'vllm_gpu_memory_utilization'],
    'number',
    'Share of a GPU that vLLM takes.',
    {
      default: 0.95,
      sets: 'hardware.reservedFraction',
      assumes: true,
    },
  ),
  ...flag(
    ['vllm.tensor_parallel_size', 'vllm_tensor_parallel_size'],
    'integer',
    'GPUs that share one copy of the weights while vLLM generates.',
    { default: 1, sets: 'rollout.tensor' },
  ),
  ...flag(
    ['vllm.enable_sleep', 'vllm_enable_sleep'],
    'boolean',
    'vLLM gives its memory back while the models train.',
    {
      default: false,
      sets: 'rollout.sleep',
      assumes: true,
    },
  ),
  ...flag(
    ['ds.enable_sleep', 'deepspeed_enable_sleep'],
    'boolean',
    'A trained model that waits goes to host memory.',
    {
      default: false,
      fields: ['method.valueModel', 'rollout.offload'],
    },
  ),
  ...flag(['ref.offload', 'ref_reward_offload'], 'boolean', 'The reference lies in host memory.', {
    default: false,
    fields: ['method.referenceModel'],
  }),
];

/** Flags of OpenRLHF: dotted since 2026, flat before. */
export const OPENRLHF_KEYS: readonly KeySpec[] = [
  ...block('', SFT, common),
  ...block('', PPO, ppo),
  ...inertKeys(
    '',
    SFT,
    'Setting of OpenRLHF that costs no memory of the GPUs that train.',
    {
      released: `ckpt.output_dir ckpt.path ckpt.save_steps ckpt.save_hf ckpt.max_num ckpt.load_enable ckpt.disable_ds save_path
      save_steps logging_steps eval_steps ckpt_path logger.logging_steps logger.tensorboard_dir logger.wandb.key
      logger.wandb.project use_wandb wandb_project eval.steps eval.dataset data.dataset data.input_key
      data.output_key data.input_template data.apply_chat_template data.max_samples data.prompt_dataset
      data.prompt_split data.label_key data.dataset_probs dataset input_key output_key apply_chat_template
      max_samples prompt_data input_template train.max_epochs train.num_episodes train.seed max_epochs num_episodes
      learning_rate actor_learning_rate critic_learning_rate adam.lr lr_scheduler lr_warmup_ratio max_norm
      ref.num_nodes ref.num_gpus_per_node reward.num_nodes reward.num_gpus_per_node critic.num_nodes
      critic.num_gpus_per_node ref_num_nodes ref_num_gpus_per_node reward_num_nodes reward_num_gpus_per_node
      critic_num_nodes critic_num_gpus_per_node reward.model_name_or_path reward_pretrain reward.remote_url
      remote_rm_url critic.model_name_or_path critic_pretrain ref.model_name_or_path ref_pretrain rollout.batch_size
      rollout.micro_batch_size rollout.n_samples_per_prompt rollout_batch_size micro_rollout_batch_size
      n_samples_per_prompt vllm.sync_backend vllm.enforce_eager vllm_sync_backend enforce_eager algo.advantage.estimator algo.advantage.gamma algo.advantage.lambd
      algo.kl.init_coef algo.kl.use_loss algo.kl.estimator advantage_estimator init_kl_coef use_kl_loss kl_estimator
      gamma lambd normalize_reward reward.normalize_enable model.beta beta model.aux_loss_coef aux_loss_coef
      ds.ring_attn_head_stride ring_head_stride train.colocate_critic_reward colocate_critic_reward seed local_rank
      train.agent_func_path load_checkpoint pretrain_mode`,
      any: `adam.betas actor.adam.lr critic.adam.lr actor.eps_clip_low_high eps_clip_low_high`,
    },
    RELEASED,
  ),
];

export const OPENRLHF_TABLE = new KeyTable(OPENRLHF_KEYS, 'OpenRLHF', RELEASED);
