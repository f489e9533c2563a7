import RELEASES from '../../../data/framework-keys/ms-swift.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { integerOf, textOf } from '../../config/scalar';
import { fileIn, MS_SWIFT } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { attentionOf } from '../hf/attention';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_KEYS } from '../hf/training-arguments-keys';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';
import { megatronCoreRows } from '../megatron/core-rows';

const ARGUMENTS = fileIn(MS_SWIFT, 'swift/arguments/');
const TRAINER = fileIn(MS_SWIFT, 'swift/trainers/arguments.py');
const MEGATRON = fileIn(MS_SWIFT, 'swift/megatron/arguments/megatron_args.py');
const DOCS = 'https://swift.readthedocs.io/en/latest/Instruction/Command-line-parameters.html';

/** Kinds of adapters and `full`, by the names of `swift/tuner_plugin` and of older releases. */
export const TUNERS = [
  'lora',
  'full',
  'longlora',
  'adalora',
  'llamapro',
  'adapter',
  'vera',
  'boft',
  'fourierft',
  'reft',
  'bone',
  'ia3',
  'lora_llm',
  'dummy',
] as const;

const SWIFT = fileIn(MS_SWIFT, 'swift/');

/** Type that packed weights are stored as. */
function storageOf(node: ConfigNode) {
  const text = textOf(node);
  return text === 'uint8' ? text : weightsDtypeOf(text);
}

/** Whether vLLM gives its memory back while it waits. */
function isAsleep(node: ConfigNode): boolean | undefined {
  const level = integerOf(node);
  return level === undefined ? undefined : level > 0;
}

const model = block('', `${ARGUMENTS}base_args/model_args.py`, [
  [
    'model',
    'string',
    'Model on ModelScope or Hugging Face, or a folder that holds it.',
    { sets: 'model.id' },
  ],
  ['model_id_or_path', 'string', 'Name of `model` in ms-swift 2.', { sets: 'model.id', alias: 'model' }],
  [
    'torch_dtype',
    'string',
    'Type that the weights are loaded in. Unset: that of the checkpoint. It decides between `bf16` and `fp16`, too.',
    {
      values: ['float16', 'bfloat16', 'float32', 'auto'],
      default: null,
      fields: ['precision.weights', 'precision.compute', 'precision.scheme'],
    },
  ],
  [
    'attn_impl',
    'string',
    'Attention kernel. Packing and padding-free batches need flash attention.',
    { default: null, sets: 'attention.implementation', means: (node) => attentionOf(textOf(node)) },
  ],
  ['device_map', 'any', 'Where each part of the model goes. Excludes DeepSpeed.', { default: null }],
  ['max_memory', 'any', 'Most memory of each device that `device_map` may use.', { default: null }],
  ['max_model_len', 'integer', 'Longest input of the model.', { default: null }],
  ['rope_scaling', 'any', 'Scaling of rotary positions.', { default: null }],
]);

const quantization = block('', `${ARGUMENTS}base_args/quant_args.py`, [
  [
    'quant_method',
    'string',
    'Who quantizes the frozen base weights while they are loaded.',
    { values: ['bnb', 'hqq', 'eetq', 'quanto', 'fp8'], default: null, fields: ['quantization.kind'] },
  ],
  [
    'quant_bits',
    'any',
    'Bits of a quantized weight. No effect without `quant_method`.',
    { default: null, fields: ['quantization.kind', 'quantization.bits'] },
  ],
  [
    'quantization_bit',
    'integer',
    'Bits of a quantized weight in ms-swift 2.',
    { fields: ['quantization.kind'] },
  ],
  ['hqq_axis', 'integer', 'Axis of HQQ.', { default: null }],
  ['bnb_4bit_compute_dtype', 'string', 'Type that 4-bit weights are multiplied in.', { default: null }],
  [
    'bnb_4bit_quant_type',
    'string',
    '4-bit type.',
    { values: ['fp4', 'nf4'], default: 'nf4', fields: ['quantization.kind'] },
  ],
  [
    'bnb_4bit_use_double_quant',
    'boolean',
    'Quantize the block scales once more.',
    { default: true, sets: 'quantization.double', assumes: `${SWIFT}arguments/base_args/quant_args.py` },
  ],
  [
    'bnb_4bit_quant_storage',
    'string',
    'Type that packed 4-bit weights are stored as.',
    { default: null, sets: 'quantization.storage', means: storageOf },
  ],
]);

const tuner = block('', `${ARGUMENTS}tuner_args.py`, [
  [
    'tuner_type',
    'string',
    'What is trained: all weights, or adapters of a kind.',
    { values: TUNERS, default: 'lora', fields: ['method.kind', 'lora.kind'] },
  ],
  ['train_type', 'string', 'Name of `tuner_type` in ms-swift 3.', { fields: ['method.kind', 'lora.kind'] }],
  ['sft_type', 'string', 'Name of `tuner_type` in ms-swift 2.', { fields: ['method.kind', 'lora.kind'] }],
  [
    'freeze_llm',
    'boolean',
    'The language model of a multimodal one is not trained.',
    { default: false, fields: ['method.trainable'] },
  ],
  [
    'freeze_vit',
    'boolean',
    'The vision tower of a multimodal model is not trained.',
    { default: true, fields: ['method.trainable'] },
  ],
  [
    'freeze_aligner',
    'boolean',
    'The projector of a multimodal model is not trained.',
    { default: true, fields: ['method.trainable'] },
  ],
  ['freeze_parameters', 'any', 'Prefixes of weights that are not trained.', { default: null }],
  ['freeze_parameters_regex', 'string', 'Weights that are not trained.', { default: null }],
  [
    'freeze_parameters_ratio',
    'number',
    'Share of the weights, from below, that is not trained.',
    { default: 0 },
  ],
  ['trainable_parameters', 'any', 'Prefixes of weights that are trained all the same.', { default: null }],
  ['trainable_parameters_regex', 'string', 'Weights that are trained all the same.', { default: null }],
  [
    'target_modules',
    'any',
    'Modules that get an adapter; `all-linear` for every linear layer but the head.',
    { default: 'all-linear', fields: ['lora.targets'] },
  ],
  [
    'target_regex',
    'string',
    'Modules that get an adapter, by their whole path.',
    { default: null, sets: 'lora.targetPattern' },
  ],
  [
    'target_parameters',
    'any',
    'Stacked weights that get an adapter.',
    { default: null, fields: ['lora.targetParameters'] },
  ],
  [
    'modules_to_save',
    'any',
    'Modules trained in full beside the adapters.',
    { default: null, sets: 'lora.modulesToSave' },
  ],
  ['lora_target_modules', 'any', 'Name of `target_modules` in ms-swift 2.', { fields: ['lora.targets'] }],
  [
    'lora_rank',
    'integer',
    'Rank of the LoRA matrices.',
    { default: 8, sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'lora_alpha',
    'number',
    'LoRA scaling numerator. Costs no memory.',
    { default: 32, sets: 'lora.alpha', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'lora_dropout',
    'number',
    'Dropout on the adapter input.',
    { default: 0.05, sets: 'lora.dropout', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'lora_bias',
    'string',
    'Biases that are trained beside the adapters.',
    { values: ['none', 'all'], default: 'none', sets: 'lora.bias' },
  ],
  [
    'lora_dtype',
    'string',
    'Type of the adapters. Unset: fp32.',
    { values: ['float16', 'bfloat16', 'float32'], default: null, fields: ['lora.dtype'] },
  ],
  [
    'use_dora',
    'boolean',
    'Weight-decomposed LoRA.',
    { default: false, sets: 'lora.dora', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  ['use_rslora', 'boolean', 'Scale by the root of the rank.', { default: false }],
  [
    'reft_rank',
    'integer',
    'Rank of ReFT and of Bone.',
    { default: 4, sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'vera_rank',
    'integer',
    'Rank of VeRA.',
    { default: 256, sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'llamapro_num_new_blocks',
    'integer',
    'Copies of layers that LLaMA Pro puts into the model and trains alone.',
    { default: 4, fields: ['method.newLayers', 'method.trainableLayers'] },
  ],
  [
    'llamapro_num_groups',
    'integer',
    'Groups of layers behind which LLaMA Pro puts one each. Unset: as many as new blocks.',
    { default: null, fields: ['method.newLayers', 'method.trainableLayers'] },
  ],
  [
    'boft_block_size',
    'integer',
    'Block size of BOFT.',
    { default: 4, sets: 'lora.blockSize', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  ['vera_dropout', 'number', 'Dropout on the input of VeRA.', { default: 0, fields: ['lora.dropout'] }],
  [
    'fourier_n_frequency',
    'integer',
    'Trained numbers of the spectrum of a weight (FourierFT).',
    { default: 2000, sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'adalora_init_r',
    'integer',
    'Rank that AdaLoRA starts from.',
    { default: 12, sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
]);

const data = block('', `${ARGUMENTS}base_args/template_args.py`, [
  [
    'max_length',
    'integer',
    "Tokens per sample; longer ones are dropped or cut. Unset: the model's longest input.",
    { default: null, fields: ['batch.sequence'] },
  ],
  [
    'packing',
    'boolean',
    'Join samples into full rows. Needs flash attention.',
    { default: false, fields: ['batch.packed'] },
  ],
  [
    'packing_length',
    'integer',
    'Tokens of a packed row. Unset: `max_length`.',
    { default: null, fields: ['batch.sequence'] },
  ],
  [
    'padding_free',
    'boolean',
    'Batches without padding. Needs flash attention. On by itself in Megatron runs only.',
    { sets: 'batch.packed', fields: ['batch.packed', 'batch.paddingFree'] },
  ],
  [
    'sequence_parallel_size',
    'integer',
    'GPUs that share a sequence.',
    { default: 1, sets: 'parallel.ulysses', assumes: `${SWIFT}arguments/base_args/template_args.py` },
  ],
  [
    'max_pixels',
    'integer',
    'Pixels that an image is scaled down to.',
    { default: null, sets: 'batch.imagePixels' },
  ],
  [
    'split_dataset_ratio',
    'number',
    'Share of the data that is kept for evaluation.',
    { default: 0, fields: ['evaluation.enabled'] },
  ],
  ['val_dataset', 'any', 'Data for evaluation.', { default: null, fields: ['evaluation.enabled'] }],
]);

const trainer = block('', TRAINER, [
  [
    'per_device_train_batch_size',
    'integer',
    'Samples per GPU and forward pass.',
    { default: 1, sets: 'batch.micro', assumes: `${SWIFT}trainers/arguments.py` },
  ],
  [
    'batch_size',
    'integer',
    'Name of `per_device_train_batch_size` in ms-swift 2.',
    { sets: 'batch.micro', alias: 'per_device_train_batch_size' },
  ],
  [
    'per_device_eval_batch_size',
    'integer',
    'Samples per GPU in evaluation.',
    { default: 1, sets: 'evaluation.batch', assumes: `${SWIFT}trainers/arguments.py` },
  ],
  [
    'gradient_accumulation_steps',
    'integer',
    'Micro batches per optimizer step. Unset: as many as make 16 samples, for GRPO 1.',
    { default: null, sets: 'batch.accumulation' },
  ],
  [
    'gradient_checkpointing',
    'boolean',
    'Keep the input of each layer only, and compute the rest again in backward.',
    { default: true, fields: ['activations.checkpointing'] },
  ],
  [
    'vit_gradient_checkpointing',
    'boolean',
    'The same for the vision tower. Unset: as `gradient_checkpointing`.',
    { default: null },
  ],
  ['use_liger_kernel', 'boolean', 'Liger kernels.', { default: false, fields: ['kernels.liger'] }],
  [
    'use_galore',
    'boolean',
    'GaLore: states in a low-rank projection.',
    { default: false, fields: ['optimizer.name'] },
  ],
  [
    'galore_rank',
    'integer',
    'Rank of GaLore.',
    { default: 128, sets: 'optimizer.rank', assumes: `${SWIFT}trainers/arguments.py` },
  ],
  [
    'lisa_activated_layers',
    'integer',
    'Layers that LISA trains at a time.',
    { default: 0, sets: 'method.trainableLayers', fields: ['method.kind', 'method.trainableLayers'] },
  ],
  [
    'lisa_step_interval',
    'integer',
    'Steps after which LISA draws other layers.',
    { default: 20, sets: 'method.switchSteps', assumes: `${SWIFT}trainers/arguments.py` },
  ],
]);

const sft = block('', `${ARGUMENTS}sft_args.py`, [
  [
    'deepspeed',
    'any',
    '`zero0` to `zero3`, `zero2_offload` and `zero3_offload` are configs that ms-swift brings; else a path.',
    { default: null, fields: ['zero.stage', 'offload.optimizer', 'offload.parameters', 'parallel.data'] },
  ],
  [
    'zero_hpz_partition_size',
    'integer',
    'ZeRO++: GPUs that share a second copy of the weights.',
    { default: null, sets: 'zero.hpzPartition' },
  ],
  [
    'deepspeed_autotp_size',
    'integer',
    "Tensor-parallel size of DeepSpeed's AutoTP.",
    { default: null, sets: 'parallel.tensor' },
  ],
  [
    'fsdp',
    'any',
    '`fsdp2` is a config that ms-swift brings; else a path.',
    { default: null, fields: ['parallel.data'] },
  ],
  [
    'tuner_backend',
    'string',
    'Who builds the adapters.',
    { values: ['peft', 'unsloth'], default: 'peft', fields: ['kernels.unsloth'] },
  ],
  ['device_groups', 'any', 'Ray: which GPUs work on what.', { default: null, fields: ['hardware.gpus'] }],
  [
    'ENV',
    'object',
    'Environment of the run.',
    {
      fields: [
        'allocator.expandableSegments',
        'allocator.cublasWorkspace',
        'hardware.gpus',
        'batch.imagePixels',
      ],
    },
  ],
  ['colocate_groups', 'any', 'Ray: workers that share GPUs.', { default: null, fields: ['rollout.engine'] }],
]);

const rlhf = block('', `${ARGUMENTS}rlhf_args.py`, [
  [
    'rlhf_type',
    'string',
    'What is trained for.',
    {
      values: ['dpo', 'orpo', 'simpo', 'kto', 'cpo', 'rm', 'ppo', 'grpo', 'gkd'],
      default: 'dpo',
      fields: ['method.objective'],
    },
  ],
  [
    'ref_model',
    'string',
    'Reference model. Unset: the model itself.',
    { default: null, fields: ['method.referenceModel'] },
  ],
  [
    'beta',
    'number',
    'Weight of the reference; 0 in GRPO needs none. In distillation 0 is the forward KL divergence, 1 the reverse one.',
    { default: null, fields: ['method.referenceModel', 'loss.divergence'] },
  ],
  [
    'task_type',
    'string',
    'What the model is trained for: the next token, or a head of its own.',
    {
      values: ['causal_lm', 'seq_cls', 'embedding', 'reranker', 'generative_reranker'],
      default: 'causal_lm',
      fields: ['method.objective'],
    },
  ],
  [
    'teacher_model',
    'string',
    'Teacher of distillation.',
    { default: null, fields: ['method.frozenParameters', 'method.frozenModels', 'method.teacher'] },
  ],
  [
    'reward_model',
    'any',
    'Reward models of PPO and GRPO, which stand frozen beside the policy.',
    { default: null, fields: ['method.frozenParameters', 'method.frozenModels'] },
  ],
  ['num_generations', 'integer', 'Completions per prompt.', { default: 8 }],
  [
    'max_completion_length',
    'integer',
    'Longest completion, behind a prompt of `max_length`.',
    { default: 512, sets: 'rollout.completion', fields: ['batch.sequence'] },
  ],
  ['use_vllm', 'boolean', 'vLLM generates the completions.', { default: false, fields: ['rollout.engine'] }],
  [
    'vllm_mode',
    'string',
    'On the same GPUs or on others.',
    { values: ['server', 'colocate'], default: null, fields: ['rollout.engine'] },
  ],
  [
    'vllm_gpu_memory_utilization',
    'number',
    'Share of a GPU that vLLM takes.',
    { default: 0.9, sets: 'hardware.reservedFraction' },
  ],
  [
    'sleep_level',
    'integer',
    'Above 0, vLLM gives its memory back while the model trains.',
    {
      values: [0, 1, 2],
      default: 0,
      sets: 'rollout.sleep',
      assumes: `${SWIFT}rlhf_trainers/args_mixin.py`,
      means: isAsleep,
    },
  ],
]);

const megatron = block('', MEGATRON, [
  [
    'moe_grouped_gemm',
    'boolean',
    'The experts of a GPU run as one grouped product.',
    { default: true, fields: ['kernels.groupedExperts'] },
  ],
  [
    'micro_batch_size',
    'integer',
    'Samples per GPU and forward pass.',
    { default: 1, sets: 'batch.micro', assumes: true },
  ],
  [
    'global_batch_size',
    'integer',
    'Samples per optimizer step.',
    { default: 16, sets: 'batch.global', assumes: true },
  ],
  ...megatronCoreRows(
    'tensor_model_parallel_size',
    'pipeline_model_parallel_size',
    'context_parallel_size',
    'expert_model_parallel_size',
    'virtual_pipeline_model_parallel_size',
    'decoder_first_pipeline_num_layers',
    'decoder_last_pipeline_num_layers',
    'sequence_parallel',
    'recompute_method',
    'recompute_num_layers',
    'recompute_modules',
    'optimizer_cpu_offload',
    'optimizer_offload_fraction',
    'use_precision_aware_optimizer',
    'main_grads_dtype',
    'main_params_dtype',
    'exp_avg_dtype',
    'exp_avg_sq_dtype',
    'mtp_num_layers',
    'cross_entropy_fusion_impl',
    'fp8_format',
    'fp8_recipe',
    'moe_expert_capacity_factor',
  ),
  [
    'expert_tensor_parallel_size',
    'integer',
    'Tensor-parallel size inside experts.',
    { default: 1, sets: 'parallel.expertTensor', assumes: true },
  ],
  [
    'use_distributed_optimizer',
    'boolean',
    'States sharded over data-parallel ranks.',
    { default: true, sets: 'parallel.distributedOptimizer', assumes: true },
  ],
  [
    'recompute_granularity',
    'string',
    'What is computed again in backward.',
    { values: ['selective', 'full', 'none'], default: 'selective', fields: ['activations.checkpointing'] },
  ],
  [
    'attention_backend',
    'string',
    'Attention kernel.',
    { default: 'flash', fields: ['attention.implementation'] },
  ],
  ['optimizer', 'string', 'Optimizer.', { default: 'adam', fields: ['optimizer.name'] }],
  [
    'cross_entropy_loss_fusion',
    'boolean',
    'Fused cross-entropy over the split vocabulary.',
    { default: true, fields: ['loss.implementation'] },
  ],
  ['train_iters', 'integer', 'Optimizer steps of the whole run.', { default: null, sets: 'schedule.steps' }],
  ['train', 'object', 'Ray: settings of the workers that train.', { fields: ['hardware.gpus'] }],
  [
    'rollout',
    'object',
    'Ray: settings of the workers that generate.',
    { fields: ['hardware.reservedFraction'] },
  ],
]);

const rest = inertKeys('', DOCS, 'Setting of ms-swift that costs no GPU memory.', {
  any: `dataset cached_dataset adapters external_plugins custom_register_path model_kwargs model_name model_author
    system reward_funcs reward_weights ref_adapters loss_type loss_weights columns report_to
    custom_dataset_info interleave_prob eval_dataset eval_dataset_args callbacks
    moe_router_load_balancing_type moe_aux_loss_coeff`,
  string: `model_type model_revision template agent_template truncation_strategy loss_scale template_backend
    padding_side response_prefix optimizer_type hub_token eval_metric acc_strategy init_weights init_strategy
    packing_strategy vit_attn_impl experts_impl local_repo_path advantage_estimator importance_sampling_level
    lr_decay_style mcore_model mcore_adapter wandb_project swanlab_project sampler_type ddp_backend download_mode
    multi_turn_scheduler vllm_server_host bridge_backend`,
  integer: `num_labels dataset_num_proc packing_num_proc max_new_tokens max_epochs steps_per_generation num_iterations
    vllm_tensor_parallel_size vllm_max_model_len vllm_server_port eval_limit lr_warmup_iters eval_iters
    early_stop_interval max_turns shuffle_buffer_size lora_ga_batch_size data_seed`,
  number: `temperature top_p top_k epsilon epsilon_high lr min_lr lr_warmup_fraction vit_lr aligner_lr lorap_lr_ratio
    router_aux_loss_coef cpo_alpha simpo_gamma desirable_weight undesirable_weight rpo_alpha lmbda sft_alpha
    label_smoothing center_rewards_coefficient clip_grad moe_z_loss_coeff adam_beta2`,
  boolean: `use_hf load_args load_data_args lazy_tokenize add_version create_checkpoint_symlink ignore_args_error
    use_swift_lora dataset_shuffle val_dataset_shuffle load_from_cache_file streaming strict enable_thinking
    preserve_thinking add_non_thinking_prefix use_chat_template check_model train_dataloader_shuffle use_logits_to_keep
    resume_only_model enable_dft_loss enable_channel_loss log_completions overlong_filter dynamic_sample async_generate
    offload_optimizer offload_model offload_teacher_model move_model_batches seq_kd finetune no_save_optim no_save_rng
    no_load_optim no_load_rng save_safetensors merge_lora async_save overlap_grad_reduce overlap_param_gather
    gradient_accumulation_fusion apply_rope_fusion masked_softmax_fusion bias_dropout_fusion bias_activation_fusion
    moe_permute_fusion moe_shared_expert_overlap use_ray group_by_length attention_softmax_in_fp32`,
});

const own = [...model, ...quantization, ...tuner, ...data, ...trainer, ...sft, ...rlhf, ...megatron, ...rest];
const named = new Set(own.map(({ path }) => path));

/** ms-swift: its own arguments and the Trainer's in one flat file, and those of `megatron sft`. */
export const MS_SWIFT_KEYS: readonly KeySpec[] = [
  ...own,
  ...TRAINING_ARGUMENTS_KEYS.filter(({ path }) => !named.has(path)),
];

export const MS_SWIFT_TABLE = new KeyTable(
  MS_SWIFT_KEYS,
  'ms-swift',
  new ReleasedKeys([new FrameworkKeys(RELEASES), 'RLHFArguments', 'MegatronRLHFArguments'], TRAINER_RELEASES),
);
