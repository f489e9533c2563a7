import RELEASES from '../../../data/framework-keys/axolotl.jsonl' with { type: 'text' };
import { flagOf } from '../../config/scalar';
import { AXOLOTL, fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { ATTENTION } from '../hf/attention';
import { TRAINER_RELEASES } from '../hf/training-arguments-keys';
import { block, inertKeys, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { mebibytes } from '../key-value';
import { ROUTER_LOGITS } from '../router-weight';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)], TRAINER_RELEASES);

const DOCS = 'https://docs.axolotl.ai/docs/config-reference.html';
const SCHEMAS = fileIn(AXOLOTL, 'src/axolotl/utils/schemas/');

const run = releasedBlock('', DOCS, RELEASED, [
  ['base_model', 'Model on the Hugging Face Hub, or a folder that holds it.', { sets: 'model.id' }],
  ['base_model_config', 'Config of the model, where it lies apart.'],
  ['overrides_of_model_config', 'Fields of `config.json` that are overridden.'],
  ['overrides_of_model_kwargs', 'Arguments of the call that loads the model.'],
  ['model_kwargs', 'Arguments of the call that loads the model.', { type: 'object', default: null }],
  ...['overrides_of_model_config', 'model_config', 'overrides_of_model_kwargs', 'model_kwargs'].map(
    (block) =>
      [
        `${block}.output_router_logits`,
        ROUTER_LOGITS,
        { type: 'boolean', default: null, sets: 'loss.routerLogits' },
      ] as const,
  ),
  [
    'micro_batch_size',
    'Samples (with packing: full rows) per GPU and forward pass.',
    { sets: 'batch.micro', assumes: `${SCHEMAS}training.py` },
  ],
  [
    'gradient_accumulation_steps',
    'Forward and backward passes per optimizer step. Costs next to no memory.',
    { sets: 'batch.accumulation', assumes: `${SCHEMAS}training.py` },
  ],
  [
    'batch_size',
    'Samples per optimizer step; excludes `gradient_accumulation_steps`.',
    { fields: ['batch.accumulation'] },
  ],
  [
    'eval_batch_size',
    'Samples per GPU of an evaluation batch; unset, as the micro batch.',
    { sets: 'evaluation.batch' },
  ],
  [
    'auto_find_batch_size',
    'Lower the micro batch after every out-of-memory error.',
    { sets: 'batch.adaptive' },
  ],
  [
    'sequence_len',
    'Tokens per sample; with packing, the length of every row.',
    { sets: 'batch.sequence', assumes: `${SCHEMAS}config.py` },
  ],
  ['eval_sequence_len', 'Tokens per sample of the evaluation.', { sets: 'evaluation.sequence' }],
  ['max_packed_sequence_len', 'Old way to pack.', { deprecated: 'sample_packing' }],
  [
    'sample_packing',
    'Join samples into full rows of `sequence_len` tokens, without attention across them.',
    { fields: ['batch.packed'] },
  ],
  ['eval_sample_packing', 'Pack the evaluation too.'],
  [
    'pad_to_sequence_len',
    'Pad every row to `sequence_len`, so that all steps need the same memory.',
    { sets: 'batch.padded' },
  ],
  [
    'batch_flattening',
    'Join the samples of a batch into one row, without padding.',
    { values: ['auto', true, false], fields: ['batch.packed'] },
  ],
  ['group_by_length', 'Batch samples of similar length.'],
  ['max_steps', 'Optimizer steps of the whole run.', { sets: 'schedule.steps' }],
  ['num_epochs', 'Passes over the data.'],
]);

const precision = releasedBlock('', DOCS, RELEASED, [
  [
    'bf16',
    'bf16 autocast over weights loaded in bf16; `auto` where the GPU can.',
    {
      values: ['auto', true, false, 'full'],
      fields: ['precision.compute', 'precision.weights', 'precision.scheme'],
    },
  ],
  [
    'fp16',
    'fp16 autocast with loss scaling.',
    { fields: ['precision.compute', 'precision.scheme', 'precision.weights'] },
  ],
  [
    'bfloat16',
    'Everything in bf16, no autocast.',
    { fields: ['precision.weights', 'precision.scheme', 'precision.compute'] },
  ],
  [
    'float16',
    'Everything in fp16, no autocast.',
    { fields: ['precision.weights', 'precision.scheme', 'precision.compute'] },
  ],
  ['float32', 'Everything in fp32.'],
  [
    'tf32',
    'Multiply fp32 matrices in TF32: faster, the same memory.',
    { values: ['auto', true, false], fields: ['kernels.tf32'] },
  ],
  ['fp8', 'fp8 training (torchao).', { sets: 'precision.fp8', spellings: { torchao: true, none: false } }],
  ['fp32_norms', 'Norms in fp32.'],
  ['embeddings_skip_upcast', 'Leave embeddings in the low precision.'],
  [
    'load_in_8bit',
    'Load the frozen base weights in int8.',
    { fields: ['quantization.kind', 'quantization.storage'] },
  ],
  ['load_in_4bit', 'Load the frozen base weights in 4 bits: QLoRA.', { fields: ['quantization.kind'] }],
  ['gptq', 'The base weights are GPTQ.', { fields: ['quantization.kind'] }],
  [
    'bnb_config_kwargs',
    'Arguments of `BitsAndBytesConfig`.',
    { fields: ['quantization.double', 'quantization.kind', 'quantization.storage'] },
  ],
  ['quantize_moe_experts', 'Quantize stacked experts too.', { fields: ['quantization.experts'] }],
  [
    'llama4_linearized_experts',
    'Experts of Llama 4 as linear layers, by a class of Axolotl.',
    { sets: 'model.linearExperts', fields: ['model.linearExperts', 'quantization.experts'] },
  ],
  ['model_quantization_config', 'Quantization of the published weights.'],
]);

const method = releasedBlock('', DOCS, RELEASED, [
  ['adapter', 'Adapter that is trained; without one all weights are.', { fields: ['method.kind'] }],
  ['lora_r', 'Rank of the LoRA matrices.', { sets: 'lora.rank' }],
  ['lora_alpha', 'LoRA scaling numerator. Costs no memory.', { type: 'number', sets: 'lora.alpha' }],
  ['lora_dropout', 'Dropout on the adapter input.', { sets: 'lora.dropout', assumes: `${SCHEMAS}peft.py` }],
  ['lora_target_linear', 'Adapt every linear layer but the head.', { fields: ['lora.targets'] }],
  [
    'lora_target_modules',
    'Modules that get an adapter.',
    { sets: 'lora.targets', fields: ['lora.targetPattern'] },
  ],
  [
    'lora_target_parameters',
    'Parameters that get an adapter, such as stacked experts.',
    { sets: 'lora.targetParameters', fields: ['lora.targets'] },
  ],
  [
    'lora_modules_to_save',
    'Modules trained in full beside the adapters.',
    { type: 'any', sets: 'lora.modulesToSave' },
  ],
  [
    'peft_ensure_weight_tying',
    'A tied embedding and head that are both trained in full are one copy.',
    { type: 'boolean', sets: 'lora.tiesCopies' },
  ],
  ['lora_rank_pattern', 'Ranks of some modules.', { sets: 'lora.rankPattern' }],
  ['peft_use_dora', 'Weight-decomposed LoRA.', { sets: 'lora.dora', assumes: `${SCHEMAS}peft.py` }],
  ['peft_use_rslora', 'Scale by the root of the rank.'],
  ['peft_layers_to_transform', 'Layers that get adapters.', { type: 'any', sets: 'lora.layers' }],
  ['peft_autocast_adapter_dtype', 'Upcast adapters to fp32.', { fields: ['lora.dtype'] }],
  ['lora_mlp_kernel', 'Fused LoRA kernel of the MLP.', { fields: ['kernels.lora'] }],
  ['lora_qkv_kernel', 'Fused LoRA kernel of queries, keys and values.', { fields: ['kernels.lora'] }],
  ['lora_o_kernel', 'Fused LoRA kernel of the output projection.', { fields: ['kernels.lora'] }],
  ['lora_embedding_kernel', 'Fused LoRA kernel of the embedding.'],
  ['lora_model_dir', 'Adapter to start from.'],
  [
    'lisa_n_layers',
    'Layers that LISA trains at a time.',
    { sets: 'method.trainableLayers', fields: ['method.kind', 'method.trainableLayers'] },
  ],
  ['lisa_step_interval', 'Steps after which LISA draws other layers.', { sets: 'method.switchSteps' }],
  ['lisa_layers_attribute', 'Where the layers are that LISA draws from.'],
  [
    'unfrozen_parameters',
    'Regular expressions of the only weights that are trained.',
    { type: 'any', fields: ['method.kind', 'method.trainable'] },
  ],
  [
    'freeze_mm_modules',
    'Towers and projectors of a model that sees or hears are not trained.',
    { fields: ['method.kind', 'method.trainable', 'lora.exclude'] },
  ],
  ['relora', 'ReLoRA: merge the adapters and start anew.'],
  ['rl', 'Preference or reinforcement training.', { fields: ['method.objective', 'method.referenceModel'] }],
  ['trl', 'Settings of online training.', { default: null, fields: ['rollout.engine'] }],
  ['reward_model', 'Train a reward model.', { fields: ['method.objective'] }],
  [
    'process_reward_model',
    'Train a reward model that judges step by step.',
    { fields: ['method.objective'] },
  ],
  [
    'precompute_ref_log_probs',
    'Run the reference once before training.',
    { sets: 'method.precomputedReference' },
  ],
]);

const optimizer = releasedBlock('', DOCS, RELEASED, [
  [
    'optimizer',
    'Optimizer. What it keeps per trained weight is most of the memory of a full fine-tune.',
    {
      fields: [
        'optimizer.name',
        'optimizer.implementation',
        'optimizer.blockSize',
        'optimizer.wideEmbeddings',
      ],
    },
  ],
  ['optim_args', 'Arguments of the optimizer.'],
  ['optim_target_modules', 'Modules that GaLore or APOLLO project.'],
]);

const activations = block('', DOCS, [
  [
    'gradient_checkpointing',
    'any',
    'Activation checkpointing: `true`, or `offload` to keep the checkpoints in host memory.',
    {
      values: [true, false, 'offload', 'offload_disk', 'unsloth'],
      default: false,
      sets: 'activations.checkpointing',
      assumes: `${SCHEMAS}config.py`,
      spellings: { full: [true, 'offload', 'offload_disk', 'unsloth'], none: false },
      fields: ['activations.offload', 'activations.offloadOverlap', 'activations.reentrant'],
    },
  ],
  [
    'gradient_checkpointing_kwargs',
    'object',
    'Arguments of `torch.utils.checkpoint`.',
    { default: null, fields: ['activations.reentrant'] },
  ],
  [
    'selective_checkpointing',
    'any',
    'Keep what is expensive to compute again.',
    { default: null, fields: ['activations.checkpointing'] },
  ],
  [
    'activation_offloading',
    'any',
    'Move what backward needs to host memory.',
    {
      values: [true, false, 'legacy', 'disk', 'hidden_states'],
      default: false,
      sets: 'activations.offload',
      means: (node) => flagOf(node) ?? true,
      fields: ['activations.offloadOverlap', 'activations.checkpointing', 'activations.reentrant'],
    },
  ],
  [
    'layer_offloading',
    'boolean',
    'Move frozen layers to host memory.',
    { default: false, brings: 'layer-offload' },
  ],
  ['attn_implementation', 'string', 'Attention kernel.', { default: null, ...ATTENTION }],
  [
    'flash_attention',
    'boolean',
    'FlashAttention 2.',
    {
      deprecated: 'attn_implementation',
      default: null,
      sets: 'attention.implementation',
      spellings: { flash2: true },
    },
  ],
  [
    'sdp_attention',
    'boolean',
    'SDPA.',
    {
      deprecated: 'attn_implementation',
      default: null,
      sets: 'attention.implementation',
      spellings: { sdpa: true },
    },
  ],
  [
    'xformers_attention',
    'boolean',
    'xFormers.',
    {
      deprecated: 'attn_implementation',
      default: null,
      sets: 'attention.implementation',
      spellings: { sdpa: true },
    },
  ],
  [
    'flex_attention',
    'boolean',
    'FlexAttention.',
    {
      deprecated: 'attn_implementation',
      default: null,
      sets: 'attention.implementation',
      spellings: { flex: true },
    },
  ],
  [
    'eager_attention',
    'boolean',
    'Eager attention: keeps the scores of every head.',
    {
      deprecated: 'attn_implementation',
      default: null,
      sets: 'attention.implementation',
      spellings: { eager: true },
    },
  ],
  ['s2_attention', 'boolean', 'Shifted sparse attention.', { default: null }],
  [
    'model_type',
    'string',
    'Class of transformers that loads the model.',
    { default: null, fields: ['method.objective'] },
  ],
  [
    'plugins',
    'array',
    'Plugins such as Liger and cut cross-entropy.',
    { default: null, fields: ['kernels.liger', 'loss.implementation'] },
  ],
  [
    'kd_trainer',
    'boolean',
    'Learn from the most probable tokens of a teacher, by the plugin of distillation.',
    { default: null, fields: ['method.objective'] },
  ],
  ['liger_rope', 'boolean', 'Liger RoPE.', { default: null }],
  ['liger_rms_norm', 'boolean', 'Liger RMSNorm.', { default: null, fields: ['kernels.liger'] }],
  ['liger_layer_norm', 'boolean', 'Liger LayerNorm.', { default: null }],
  ['liger_swiglu', 'boolean', 'Old name of `liger_glu_activation`.', { deprecated: 'liger_glu_activation' }],
  ['liger_glu_activation', 'boolean', 'Liger SwiGLU or GeGLU.', { default: null, fields: ['kernels.liger'] }],
  [
    'liger_fused_linear_cross_entropy',
    'boolean',
    'Loss fused with the head: the logits are never whole.',
    { default: null, fields: ['loss.implementation'] },
  ],
  [
    'cut_cross_entropy',
    'boolean',
    'Cut cross-entropy: the logits are never there.',
    { default: null, fields: ['loss.implementation'] },
  ],
  [
    'chunked_cross_entropy',
    'boolean',
    'Cross-entropy in chunks of the logits.',
    { default: null, fields: ['loss.implementation'] },
  ],
  ['flash_attn_cross_entropy', 'boolean', "FlashAttention's cross-entropy.", { default: null }],
  ['tiled_mlp', 'boolean', 'Run the MLP in tiles of the sequence.', { default: null, brings: 'tiled-mlp' }],
  [
    'torch_compile',
    'any',
    'Compile the model.',
    { values: ['auto', true, false], default: null, sets: 'kernels.compile' },
  ],
  [
    'neftune_noise_alpha',
    'number',
    'Noise added to the embeddings.',
    { default: null, sets: 'method.noisyEmbeddings', means: () => true },
  ],
  ['unsloth_cross_entropy_loss', 'boolean', "Unsloth's loss (removed).", { default: null }],
  ['unsloth_lora_mlp', 'boolean', "Unsloth's MLP (removed).", { deprecated: 'lora_mlp_kernel' }],
  ['unsloth_lora_qkv', 'boolean', "Unsloth's attention (removed).", { deprecated: 'lora_qkv_kernel' }],
  ['unsloth_lora_o', 'boolean', "Unsloth's output projection (removed).", { deprecated: 'lora_o_kernel' }],
  ['liger_cross_entropy', 'boolean', "Liger's cross-entropy over whole logits.", { default: null }],
  ['inference', 'boolean', 'The config is for inference.', { default: null }],
]);

const parallel = block('', DOCS, [
  [
    'deepspeed',
    'any',
    'DeepSpeed config: the path of a JSON file, or the config itself.',
    { default: null, fields: ['parallel.data', 'zero.stage', 'precision.scheme'] },
  ],
  [
    'fsdp',
    'any',
    'FSDP options of old versions.',
    { default: null, fields: ['parallel.data', 'fsdp.strategy'] },
  ],
  ['fsdp_version', 'integer', 'FSDP 1 or 2.', { values: [1, 2], default: null, fields: ['parallel.data'] }],
  ['fsdp_config', 'object', 'FSDP settings.', { default: null, fields: ['parallel.data'] }],
  ['use_ray', 'boolean', 'Ray starts the processes.', { default: false }],
  [
    'ray_num_workers',
    'integer',
    'Processes that Ray starts, each with a GPU.',
    { default: 1, fields: ['hardware.gpus'] },
  ],
  [
    'dp_shard_size',
    'integer',
    'GPUs that a shard group spans; those that are left are replicas.',
    { default: null, fields: ['parallel.replicate'] },
  ],
  [
    'dp_replicate_size',
    'integer',
    'Replicas of the sharded model.',
    { default: null, sets: 'parallel.replicate' },
  ],
  ['tensor_parallel_size', 'integer', 'Tensor-parallel size.', { default: 1, sets: 'parallel.tensor' }],
  ['context_parallel_size', 'integer', 'Context-parallel size.', { default: 1, sets: 'parallel.context' }],
  [
    'sequence_parallel_degree',
    'integer',
    'Old name of `context_parallel_size`.',
    { deprecated: 'context_parallel_size', sets: 'parallel.context' },
  ],
  ['expert_parallel_size', 'integer', 'Expert-parallel size.', { default: 1, sets: 'parallel.expert' }],
  [
    'ddp_bucket_cap_mb',
    'integer',
    'DDP bucket size in MB.',
    { default: null, sets: 'ddp.bucketCap', means: mebibytes },
  ],
  ['max_memory', 'any', 'Memory that loading may use per device.', { default: null }],
  ['gpu_memory_limit', 'any', 'Memory that loading may use on each GPU.', { default: null }],
  [
    'val_set_size',
    'number',
    'Share of the data that is held out for evaluation.',
    { default: 0, fields: ['evaluation.enabled'] },
  ],
  ['evals_per_epoch', 'integer', 'Evaluations per epoch.', { default: null }],
]);

const rest = inertKeys(
  '',
  DOCS,
  'Setting of Axolotl that costs no GPU memory.',
  {
    released: `device device_map peft_init_lora_weights peft_trainable_token_indices learning_rate fix_untrained_tokens
    report_to image_size image_resize_algorithm debug tokenizer_type processor_type revision_of_model
    cls_model_config chat_template chat_template_jinja output_dir dataset_prepared_path lr_scheduler
    wandb_project wandb_entity wandb_name wandb_run_id wandb_log_model wandb_mode mlflow_tracking_uri
    mlflow_experiment_name hub_model_id hub_strategy hub_revision push_dataset_to_hub resume_from_checkpoint
    eval_strategy save_strategy metric_for_best_model excess_length_strategy trainer_cls torch_compile_backend
    torch_compile_mode experts_implementation relora_prune_method default_system_message ring_attn_func
    fsdp_final_state_dict_type merge_method trackio_project_name trackio_run_name trackio_space_id
    torchdistx_path large_head_attention comet_project_name seed local_rank world_size logging_steps
    save_total_limit saves_per_epoch early_stopping_patience eval_table_size eval_max_new_tokens
    dataset_processes dataset_num_proc dataloader_num_workers dataloader_prefetch_factor
    sample_packing_group_size sample_packing_bin_size min_sample_len max_prompt_len pad_to_multiple_of
    pretrain_multipack_buffer_size streaming_multipack_buffer_size loss_watchdog_patience gc_steps
    torch_empty_cache_steps gc_collect_steps tiled_mlp_num_shards heads_k_stride profiler_steps
    profiler_steps_start total_num_tokens total_supervised_tokens relora_steps relora_warmup_steps
    chunked_cross_entropy_num_chunks ddp_timeout dataset_shard_num dataset_shard_idx num_labels
    jagged_restart_steps jagged_restart_warmup_steps jagged_restart_anneal_steps weight_decay warmup_ratio
    adam_beta1 adam_beta2 adam_beta3 adam_epsilon adam_epsilon2 max_grad_norm cosine_min_lr_ratio
    cosine_constant_lr_ratio lr_div_factor embedding_lr embedding_lr_scale loss_watchdog_threshold rl_beta
    dpo_beta orpo_alpha simpo_gamma cpo_alpha kto_desirable_weight kto_undesirable_weight dpo_label_smoothing
    center_rewards_coefficient sample_packing_eff_est loraplus_lr_embedding relora_prune_ratio strict
    trust_remote_code is_falcon_derived_model is_llama_derived_model is_mistral_derived_model
    is_qwen_derived_model tokenizer_use_fast tokenizer_legacy tokenizer_use_mistral_common train_on_inputs
    resize_token_embeddings_to_32x mean_resizing_embeddings shrink_embeddings auto_resume_from_checkpoints
    shuffle_merged_datasets skip_prepare_dataset remove_unused_columns dataloader_pin_memory
    dataloader_drop_last hf_use_auth_token ddp ddp_broadcast_buffers ddp_find_unused_parameters
    do_causal_lm_eval do_bench_eval load_best_model_at_end save_only_model save_safetensors save_first_step
    use_tensorboard use_wandb use_mlflow low_cpu_mem_usage lora_fan_in_fan_out lora_on_cpu lr_quadratic_warmup
    flash_attn_fuse_mlp flash_attn_fuse_qkv flash_attn_rms_norm flash_optimum streaming
    use_kernels include_tokens_per_second include_tkps qlora_sharded_model_loading
    fused_attn_kernel gemma4_hybrid_attn_impl liger_rms_norm_gated experimental_skip_move_to_device
    sage_attention scaling_softmax curriculum_sampling multipack_real_batches use_pose
    sample_packing_sequentially deepcompile merge_lora dpo_use_weighting
    dpo_use_liger_kernel dpo_padding_free fp8_enable_fsdp_float8_all_gather use_onebitllms generate_samples`,
    any: `datasets test_datasets pretraining_dataset special_tokens tokens added_tokens_overrides vllm ebft qat
    quantization dynamic_checkpoint dpo_loss_type dpo_loss_weights lr_groups loraplus_lr_ratio save_steps
    eval_steps model_config tokenizer_config processor_kwargs accelerator_config chat_template_kwargs eot_tokens
    peft lora_alpha_pattern peft_layers_pattern lr_scheduler_kwargs torch_compile_options
    flex_attn_compile_kwargs fp32_norm_classes model_quantization_config_kwargs eval_causal_lm_metrics
    base_model_ignore_patterns pose_split_on_token_ids nemo_gym_datasets nemo_gym_config_paths warmup_steps
    bench_dataset wandb_watch`,
    string: `swanlab_project swanlab_mode nemo_gym_dir`,
    integer: `gptq_groupsize`,
    number: `adam_eps eta_min`,
    boolean: `use_scattermoe use_sonicmoe zero3_init gptq_model_v1 load_4bit nemo_gym_enabled nemo_gym_auto_start
    nemo_gym_auto_clone`,
  },
  RELEASED,
);

/** Settings of FSDP, each under two names: with and without the prefix `fsdp_`. */
const fsdp = ['', 'fsdp_'].flatMap((prefix) =>
  block('fsdp_config', DOCS, [
    [
      `${prefix}reshard_after_forward`,
      'any',
      'Free gathered weights after forward (FSDP 2).',
      { default: true, fields: ['fsdp.strategy'] },
    ],
    [
      `${prefix}sharding_strategy`,
      'string',
      'What FSDP 1 shards.',
      { default: 'FULL_SHARD', fields: ['fsdp.strategy'] },
    ],
    [
      `${prefix}offload_params`,
      'boolean',
      'Keep shards, gradients and optimizer states in host memory.',
      { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    [
      `${prefix}auto_wrap_policy`,
      'string',
      'What is gathered at a time: a layer (`TRANSFORMER_BASED_WRAP`) or modules above a size.',
      { default: null, fields: ['fsdp.wrap'] },
    ],
    [
      `${prefix}transformer_layer_cls_to_wrap`,
      'any',
      'Class of the layers that are wrapped.',
      { default: null, fields: ['fsdp.wrap'] },
    ],
    [
      `${prefix}min_num_params`,
      'integer',
      'Smallest module that size-based wrapping wraps.',
      { default: null, sets: 'fsdp.minParameters' },
    ],
    [
      `${prefix}use_orig_params`,
      'boolean',
      'FSDP 1 keeps the original parameters visible.',
      { default: null, sets: 'fsdp.useOriginalParameters' },
    ],
    [
      `${prefix}cpu_ram_efficient_loading`,
      'boolean',
      'Only the first process of a node reads the checkpoint, into host memory.',
      { default: null, fields: ['loading.hostCopies'] },
    ],
    [
      `${prefix}activation_checkpointing`,
      'boolean',
      'Activation checkpointing by FSDP instead of by the model.',
      { default: false, fields: ['activations.checkpointing', 'activations.reentrant'] },
    ],
    ...(prefix === ''
      ? ([
          ['version', 'integer', 'FSDP 1 or 2.', { values: [1, 2], default: 1, fields: ['parallel.data'] }],
        ] as const)
      : ([
          [
            'fsdp_version',
            'integer',
            'FSDP 1 or 2.',
            { values: [1, 2], default: 1, fields: ['parallel.data'] },
          ],
        ] as const)),
  ]),
);

const online = releasedBlock('trl', DOCS, RELEASED, [
  ['use_vllm', 'Generate with vLLM instead of the trained model itself.', { fields: ['rollout.engine'] }],
  [
    'vllm_mode',
    'vLLM on GPUs of its own (`server`) or on those that train (`colocate`).',
    { fields: ['rollout.engine'] },
  ],
  ['max_completion_length', 'Longest completion.', { sets: 'rollout.completion' }],
  ['vllm_enable_sleep_mode', 'vLLM gives its memory back while the model trains.', { sets: 'rollout.sleep' }],
  [
    'beta',
    'Weight of the distance to the reference; above 0 a reference is needed.',
    { fields: ['method.referenceModel'] },
  ],
  ['num_generations', 'Completions per prompt.'],
  ['generation_batch_size', 'Completions generated at a time over all GPUs.', { fields: ['rollout.batch'] }],
]);

/** Every key of Axolotl that configs use. */
export const AXOLOTL_KEYS: readonly KeySpec[] = [
  ...run,
  ...precision,
  ...method,
  ...optimizer,
  ...activations,
  ...parallel,
  ...fsdp,
  ...online,
  ...rest,
];

export const AXOLOTL_TABLE = new KeyTable(AXOLOTL_KEYS, 'Axolotl', RELEASED);
