import RELEASES from '../../../data/framework-keys/ms-swift.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { integerOf, textOf } from '../../config/scalar';
import { fileIn, MS_SWIFT } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { attentionOf } from '../hf/attention';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_KEYS } from '../hf/training-arguments-keys';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { megatronCoreKeys } from '../megatron/core-rows';
import { isWeighed } from '../router-weight';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys(
  [new FrameworkKeys(() => RELEASES), 'RLHFArguments', 'MegatronRLHFArguments'],
  TRAINER_RELEASES,
);

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

const model = releasedBlock('', `${ARGUMENTS}base_args/model_args.py`, RELEASED, [
  ['model', 'Model on ModelScope or Hugging Face, or a folder that holds it.', { sets: 'model.id' }],
  [
    'model_id_or_path',
    'Name of `model` in ms-swift 2.',
    { type: 'string', sets: 'model.id', alias: 'model' },
  ],
  [
    'torch_dtype',
    'Type that the weights are loaded in. Unset: that of the checkpoint. It decides between `bf16` and `fp16`, too.',
    {
      values: ['float16', 'bfloat16', 'float32', 'auto'],
      fields: ['precision.weights', 'precision.compute', 'precision.scheme'],
    },
  ],
  [
    'router_aux_loss_coef',
    'Weight of the loss that balances the experts of a mixture; any but 0 has the model return the logits of its routers.',
    { sets: 'loss.routerLogits', means: isWeighed },
  ],
  [
    'attn_impl',
    'Attention kernel. Packing and padding-free batches need flash attention.',
    { sets: 'attention.implementation', means: (node) => attentionOf(textOf(node)) },
  ],
  ['device_map', 'Where each part of the model goes. Excludes ZeRO-3.'],
  ['max_memory', 'Most memory of each device that `device_map` may use.'],
  ['max_model_len', 'Longest input of the model.'],
  ['rope_scaling', 'Scaling of rotary positions.', { type: 'any' }],
]);

const quantization = releasedBlock('', `${ARGUMENTS}base_args/quant_args.py`, RELEASED, [
  [
    'quant_method',
    'Who quantizes the frozen base weights while they are loaded.',
    { values: ['bnb', 'hqq', 'eetq', 'quanto', 'fp8'], fields: ['quantization.kind'] },
  ],
  [
    'quant_bits',
    'Bits of a quantized weight. No effect without `quant_method`.',
    { fields: ['quantization.kind', 'quantization.bits'] },
  ],
  [
    'quantization_bit',
    'Bits of a quantized weight in ms-swift 2.',
    { type: 'integer', fields: ['quantization.kind'] },
  ],
  ['hqq_axis', 'Axis of HQQ.'],
  ['bnb_4bit_compute_dtype', 'Type that 4-bit weights are multiplied in.'],
  ['bnb_4bit_quant_type', '4-bit type.', { values: ['fp4', 'nf4'], fields: ['quantization.kind'] }],
  [
    'bnb_4bit_use_double_quant',
    'Quantize the block scales once more.',
    { sets: 'quantization.double', assumes: `${SWIFT}arguments/base_args/quant_args.py` },
  ],
  [
    'bnb_4bit_quant_storage',
    'Type that packed 4-bit weights are stored as.',
    { sets: 'quantization.storage', means: storageOf },
  ],
]);

const tuner = releasedBlock('', `${ARGUMENTS}tuner_args.py`, RELEASED, [
  [
    'tuner_type',
    'What is trained: all weights, or adapters of a kind.',
    { values: TUNERS, fields: ['method.kind', 'lora.kind'] },
  ],
  ['train_type', 'Name of `tuner_type` in ms-swift 3.', { fields: ['method.kind', 'lora.kind'] }],
  [
    'sft_type',
    'Name of `tuner_type` in ms-swift 2.',
    { type: 'string', fields: ['method.kind', 'lora.kind'] },
  ],
  ['freeze_llm', 'The language model of a multimodal one is not trained.', { fields: ['method.trainable'] }],
  ['freeze_vit', 'The vision tower of a multimodal model is not trained.', { fields: ['method.trainable'] }],
  ['freeze_aligner', 'The projector of a multimodal model is not trained.', { fields: ['method.trainable'] }],
  [
    'freeze_parameters',
    'Prefixes of weights that are not trained.',
    { type: 'any', default: null, fields: ['method.kind', 'method.trainable'] },
  ],
  ['freeze_parameters_regex', 'Weights that are not trained.', { fields: ['method.kind'] }],
  [
    'freeze_parameters_ratio',
    'Share of the weights, from below, that is not trained.',
    { fields: ['method.kind'] },
  ],
  [
    'trainable_parameters',
    'Prefixes of weights that are trained all the same.',
    { type: 'any', default: null, fields: ['method.kind', 'method.trainable'] },
  ],
  ['trainable_parameters_regex', 'Weights that are trained all the same.', { fields: ['method.kind'] }],
  [
    'target_modules',
    'Modules that get an adapter; `all-linear` for every linear layer but the head.',
    { type: 'any', default: 'all-linear', fields: ['lora.targets'] },
  ],
  ['target_regex', 'Modules that get an adapter, by their whole path.', { sets: 'lora.targetPattern' }],
  [
    'target_parameters',
    'Stacked weights that get an adapter.',
    { type: 'any', fields: ['lora.targetParameters'] },
  ],
  [
    'modules_to_save',
    'Modules trained in full beside the adapters.',
    { type: 'any', default: null, sets: 'lora.modulesToSave' },
  ],
  [
    'lora_target_modules',
    'Name of `target_modules` in ms-swift 2.',
    { type: 'any', fields: ['lora.targets'] },
  ],
  [
    'lora_rank',
    'Rank of the LoRA matrices.',
    { sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'lora_alpha',
    'LoRA scaling numerator. Costs no memory.',
    { sets: 'lora.alpha', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'lora_dropout',
    'Dropout on the adapter input.',
    { sets: 'lora.dropout', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'lora_bias',
    'Biases that are trained beside the adapters.',
    { values: ['none', 'all'], sets: 'lora.bias' },
  ],
  [
    'lora_dtype',
    'Type of the adapters. Unset: fp32.',
    { values: ['float16', 'bfloat16', 'float32'], fields: ['lora.dtype'] },
  ],
  ['use_dora', 'Weight-decomposed LoRA.', { sets: 'lora.dora', assumes: `${SWIFT}arguments/tuner_args.py` }],
  ['use_rslora', 'Scale by the root of the rank.'],
  [
    'reft_rank',
    'Rank of ReFT and of Bone.',
    { sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  ['vera_rank', 'Rank of VeRA.', { sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` }],
  [
    'llamapro_num_new_blocks',
    'Copies of layers that LLaMA Pro puts into the model and trains alone.',
    {
      sets: 'method.newLayers',
      fields: ['method.newLayers', 'method.trainableLayers'],
      assumes: `${SWIFT}arguments/tuner_args.py`,
    },
  ],
  [
    'llamapro_num_groups',
    'Groups of layers behind which LLaMA Pro puts one each. Unset: as many as new blocks.',
    { sets: 'method.newLayers', fields: ['method.newLayers', 'method.trainableLayers'] },
  ],
  [
    'boft_block_size',
    'Block size of BOFT.',
    { sets: 'lora.blockSize', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'vera_dropout',
    'Dropout on the input of VeRA.',
    { sets: 'lora.dropout', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'boft_dropout',
    'Multiplicative dropout of BOFT.',
    { sets: 'lora.dropout', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'fourier_n_frequency',
    'Trained numbers of the spectrum of a weight (FourierFT).',
    { sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
  [
    'adalora_init_r',
    'Rank that AdaLoRA starts from.',
    { sets: 'lora.rank', assumes: `${SWIFT}arguments/tuner_args.py` },
  ],
]);

const data = releasedBlock('', `${ARGUMENTS}base_args/template_args.py`, RELEASED, [
  [
    'max_length',
    "Tokens per sample; longer ones are dropped or cut. Unset: the model's longest input.",
    { fields: ['batch.sequence'] },
  ],
  ['packing', 'Join samples into full rows. Needs flash attention.', { fields: ['batch.packed'] }],
  ['packing_length', 'Tokens of a packed row. Unset: `max_length`.', { fields: ['batch.sequence'] }],
  [
    'padding_free',
    'Batches without padding. Needs flash attention. On by itself in Megatron runs only.',
    { default: undefined, sets: 'batch.packed', fields: ['batch.packed', 'batch.paddingFree'] },
  ],
  [
    'sequence_parallel_size',
    'GPUs that share a sequence.',
    { sets: 'parallel.ulysses', assumes: `${SWIFT}arguments/base_args/template_args.py` },
  ],
  ['max_pixels', 'Pixels that an image is scaled down to.', { sets: 'batch.imagePixels' }],
  [
    'split_dataset_ratio',
    'Share of the data that is kept for evaluation.',
    { fields: ['evaluation.enabled'] },
  ],
  ['val_dataset', 'Data for evaluation.', { type: 'any', default: null, fields: ['evaluation.enabled'] }],
]);

const trainer = releasedBlock('', TRAINER, RELEASED, [
  [
    'per_device_train_batch_size',
    'Samples per GPU and forward pass.',
    { sets: 'batch.micro', assumes: `${SWIFT}trainers/arguments.py` },
  ],
  [
    'batch_size',
    'Name of `per_device_train_batch_size` in ms-swift 2.',
    { type: 'integer', sets: 'batch.micro', alias: 'per_device_train_batch_size' },
  ],
  [
    'per_device_eval_batch_size',
    'Samples per GPU in evaluation.',
    { sets: 'evaluation.batch', assumes: `${SWIFT}trainers/arguments.py` },
  ],
  [
    'gradient_accumulation_steps',
    'Micro batches per optimizer step. Unset: as many as make 16 samples, for GRPO 1.',
    { sets: 'batch.accumulation' },
  ],
  [
    'gradient_checkpointing',
    'Keep the input of each layer only, and compute the rest again in backward.',
    { fields: ['activations.checkpointing'] },
  ],
  ['vit_gradient_checkpointing', 'The same for the vision tower. Unset: as `gradient_checkpointing`.'],
  ['use_liger_kernel', 'Liger kernels.', { fields: ['kernels.liger'] }],
  ['use_galore', 'GaLore: states in a low-rank projection.', { fields: ['optimizer.name'] }],
  ['galore_rank', 'Rank of GaLore.', { sets: 'optimizer.rank', assumes: `${SWIFT}trainers/arguments.py` }],
  [
    'lisa_activated_layers',
    'Layers that LISA trains at a time.',
    { sets: 'method.trainableLayers', fields: ['method.kind', 'method.trainableLayers'] },
  ],
  [
    'lisa_step_interval',
    'Steps after which LISA draws other layers.',
    { sets: 'method.switchSteps', assumes: `${SWIFT}trainers/arguments.py` },
  ],
]);

const sft = releasedBlock('', `${ARGUMENTS}sft_args.py`, RELEASED, [
  [
    'deepspeed',
    '`zero0` to `zero3`, `zero2_offload` and `zero3_offload` are configs that ms-swift brings; else a path.',
    { fields: ['zero.stage', 'offload.optimizer', 'offload.parameters', 'parallel.data'] },
  ],
  [
    'zero_hpz_partition_size',
    'ZeRO++: GPUs that share a second copy of the weights.',
    { sets: 'zero.hpzPartition' },
  ],
  ['deepspeed_autotp_size', "Tensor-parallel size of DeepSpeed's AutoTP.", { sets: 'parallel.tensor' }],
  [
    'fsdp',
    '`fsdp2` is a config that ms-swift brings; else a path.',
    { type: 'any', fields: ['parallel.data'] },
  ],
  ['tuner_backend', 'Who builds the adapters.', { values: ['peft', 'unsloth'], fields: ['kernels.unsloth'] }],
  ['device_groups', 'Ray: which GPUs work on what.', { type: 'any', fields: ['hardware.gpus'] }],
  [
    'ENV',
    'Environment of the run.',
    {
      type: 'object',
      fields: [
        'allocator.expandableSegments',
        'allocator.maxSplit',
        'allocator.roundup',
        'allocator.cublasWorkspace',
        'hardware.gpus',
        'batch.imagePixels',
      ],
    },
  ],
  [
    'colocate_groups',
    'Ray: workers that share GPUs.',
    { type: 'any', default: null, fields: ['rollout.engine'] },
  ],
]);

const rlhf = releasedBlock('', `${ARGUMENTS}rlhf_args.py`, RELEASED, [
  [
    'rlhf_type',
    'What is trained for.',
    {
      values: ['dpo', 'orpo', 'simpo', 'kto', 'cpo', 'rm', 'ppo', 'grpo', 'gkd'],
      fields: ['method.objective'],
    },
  ],
  ['ref_model', 'Reference model. Unset: the model itself.', { fields: ['method.referenceModel'] }],
  [
    'beta',
    'Weight of the reference; 0 in GRPO needs none. In distillation 0 is the forward KL divergence, 1 the reverse one.',
    { fields: ['method.referenceModel', 'loss.divergence'] },
  ],
  [
    'task_type',
    'What the model is trained for: the next token, or a head of its own.',
    {
      values: ['causal_lm', 'seq_cls', 'embedding', 'reranker', 'generative_reranker'],
      default: 'causal_lm',
      fields: ['method.objective'],
    },
  ],
  [
    'teacher_model',
    'Teacher of distillation.',
    { fields: ['method.frozenParameters', 'method.frozenModels', 'method.teacher'] },
  ],
  [
    'teacher_deepspeed',
    'DeepSpeed of the teacher, where it is another than that of the trained model.',
    { fields: ['method.frozenParameters', 'method.frozenSharded'] },
  ],
  [
    'reward_model',
    'Reward models of PPO and GRPO, which stand frozen beside the policy.',
    { type: 'any', fields: ['method.frozenParameters', 'method.frozenModels'] },
  ],
  ['num_generations', 'Completions per prompt.'],
  [
    'generation_batch_size',
    'Completions generated at a time over all GPUs.',
    { type: 'integer', default: null, fields: ['rollout.batch'] },
  ],
  [
    'steps_per_generation',
    'Micro batches trained on per generation.',
    { type: 'integer', default: null, fields: ['rollout.steps'] },
  ],
  [
    'max_completion_length',
    'Longest completion, behind a prompt of `max_length`.',
    { sets: 'rollout.completion', fields: ['batch.sequence'] },
  ],
  ['response_length', 'Longest response.', { sets: 'rollout.completion', alias: 'max_completion_length' }],
  ['use_vllm', 'vLLM generates the completions.', { fields: ['rollout.engine'] }],
  [
    'vllm_mode',
    'On the same GPUs or on others.',
    { values: ['server', 'colocate'], fields: ['rollout.engine'] },
  ],
  ['vllm_gpu_memory_utilization', 'Share of a GPU that vLLM takes.', { sets: 'hardware.reservedFraction' }],
  [
    'vllm_tensor_parallel_size',
    'GPUs that share one copy of the weights while vLLM generates.',
    { type: 'integer', default: 1, sets: 'rollout.tensor' },
  ],
  [
    'vllm_engine_kwargs',
    'Further arguments of vLLM, as JSON.',
    { type: 'any', default: null, fields: ['rollout.quantized'] },
  ],
  [
    'sleep_level',
    'Above 0, vLLM gives its memory back while the model trains.',
    {
      values: [0, 1, 2],
      sets: 'rollout.sleep',
      assumes: `${SWIFT}rlhf_trainers/args_mixin.py`,
      means: isAsleep,
    },
  ],
  [
    'offload_model',
    'Weights wait in host memory while vLLM generates on the same GPUs.',
    { fields: ['rollout.offload'] },
  ],
  [
    'offload_optimizer',
    'Optimizer states wait in host memory while vLLM generates on the same GPUs.',
    { fields: ['rollout.offload'] },
  ],
]);

const megatron = [
  ...block('', MEGATRON, [
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
  ]),
  ...megatronCoreKeys(
    '',
    MEGATRON,
    'tensor_model_parallel_size',
    'pipeline_model_parallel_size',
    'context_parallel_size',
    'expert_model_parallel_size',
    'virtual_pipeline_model_parallel_size',
    'decoder_first_pipeline_num_layers',
    'decoder_last_pipeline_num_layers',
    'sequence_parallel',
    'tp_comm_overlap',
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
  ...block('', MEGATRON, [
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
    [
      'train_iters',
      'integer',
      'Optimizer steps of the whole run.',
      { default: null, sets: 'schedule.steps' },
    ],
    ['train', 'object', 'Ray: settings of the workers that train.', { fields: ['hardware.gpus'] }],
    [
      'rollout',
      'object',
      'Ray: settings of the workers that generate.',
      { fields: ['hardware.reservedFraction'] },
    ],
  ]),
];

const rest = inertKeys(
  '',
  DOCS,
  'Setting of ms-swift that costs no GPU memory.',
  {
    released: `model_kwargs columns eval_dataset_args model_type model_revision template agent_template truncation_strategy
    loss_scale template_backend padding_side response_prefix hub_token eval_metric acc_strategy init_weights
    init_strategy packing_strategy vit_attn_impl experts_impl local_repo_path advantage_estimator
    importance_sampling_level lr_decay_style mcore_model mcore_adapter wandb_project swanlab_project ddp_backend
    download_mode multi_turn_scheduler bridge_backend num_labels dataset_num_proc packing_num_proc
    max_new_tokens max_epochs num_iterations vllm_max_model_len
    eval_limit lr_warmup_iters eval_iters early_stop_interval max_turns shuffle_buffer_size lora_ga_batch_size
    data_seed temperature top_p epsilon epsilon_high lr min_lr lr_warmup_fraction vit_lr aligner_lr
    lorap_lr_ratio cpo_alpha simpo_gamma desirable_weight undesirable_weight rpo_alpha
    lmbda sft_alpha label_smoothing center_rewards_coefficient clip_grad moe_z_loss_coeff adam_beta2 use_hf
    load_args load_data_args lazy_tokenize add_version create_checkpoint_symlink ignore_args_error
    use_swift_lora dataset_shuffle val_dataset_shuffle load_from_cache_file streaming strict enable_thinking
    preserve_thinking add_non_thinking_prefix use_chat_template check_model train_dataloader_shuffle
    use_logits_to_keep resume_only_model enable_dft_loss enable_channel_loss log_completions overlong_filter
    dynamic_sample async_generate offload_teacher_model seq_kd finetune
    no_save_optim no_save_rng no_load_optim no_load_rng save_safetensors merge_lora async_save
    overlap_grad_reduce overlap_param_gather gradient_accumulation_fusion apply_rope_fusion
    masked_softmax_fusion bias_dropout_fusion bias_activation_fusion moe_permute_fusion
    moe_shared_expert_overlap use_ray group_by_length attention_softmax_in_fp32`,
    any: `dataset cached_dataset adapters external_plugins custom_register_path model_name model_author system
    reward_funcs reward_weights ref_adapters loss_type loss_weights report_to custom_dataset_info
    interleave_prob eval_dataset callbacks moe_router_load_balancing_type moe_aux_loss_coeff`,
    string: `optimizer_type sampler_type vllm_server_host swift_version model_dir model_suffix model_info model_meta
    training_args hub`,
    integer: `vllm_server_port rank`,
    number: `top_k`,
    boolean: `move_model_batches`,
  },
  RELEASED,
);

/** `args.json`: all arguments as a run that started had them, with what it found (`base_args.py`, `_init_dist` and `save_args`). */
const record = block('', DOCS, [
  [
    'global_world_size',
    'integer',
    'Processes of the run, one a GPU, as its record has them.',
    { sets: 'hardware.gpus' },
  ],
  [
    'local_world_size',
    'integer',
    'Processes of a node, as the record of the run has them.',
    { fields: ['hardware.nodes'] },
  ],
]);

const own = [
  ...model,
  ...quantization,
  ...tuner,
  ...data,
  ...trainer,
  ...sft,
  ...rlhf,
  ...megatron,
  ...record,
  ...rest,
];
const named = new Set(own.map(({ path }) => path));

/** ms-swift: its own arguments and the Trainer's in one flat file, and those of `megatron sft`. */
export const MS_SWIFT_KEYS: readonly KeySpec[] = [
  ...own,
  ...TRAINING_ARGUMENTS_KEYS.filter(({ path }) => !named.has(path)),
];

export const MS_SWIFT_TABLE = new KeyTable(MS_SWIFT_KEYS, 'ms-swift', RELEASED);
