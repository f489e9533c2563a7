import RELEASES from '../../../data/framework-keys/transformers.jsonl' with { type: 'text' };
import type { KeySpec } from '../dialect';
import { FrameworkKeys, type FrameworkTables, ReleasedKeys } from '../framework-keys';
import { block, inertKeys, movedRow, type Row, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { mebibytes, positive } from '../key-value';

/** The Trainer's arguments as releases of transformers have them. */
export const TRAINER_RELEASES: FrameworkTables = [
  new FrameworkKeys(() => RELEASES),
  'Seq2SeqTrainingArguments',
];

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys(TRAINER_RELEASES);

const DOCS = 'https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments';
const FSDP_DOCS = 'https://huggingface.co/docs/transformers/fsdp';

/** `OptimizerNames` of transformers 4.57 and 5. */
export const HF_OPTIMIZERS = [
  'adamw_torch',
  'adamw_torch_fused',
  'adamw_torch_xla',
  'adamw_torch_npu_fused',
  'adamw_apex_fused',
  'adafactor',
  'adamw_anyprecision',
  'adamw_torch_4bit',
  'adamw_torch_8bit',
  'ademamix',
  'sgd',
  'adagrad',
  'adamw_bnb_8bit',
  'adamw_8bit',
  'ademamix_8bit',
  'lion_8bit',
  'lion_32bit',
  'paged_adamw_32bit',
  'paged_adamw_8bit',
  'paged_ademamix_32bit',
  'paged_ademamix_8bit',
  'paged_lion_32bit',
  'paged_lion_8bit',
  'rmsprop',
  'rmsprop_bnb',
  'rmsprop_bnb_8bit',
  'rmsprop_bnb_32bit',
  'galore_adamw',
  'galore_adamw_8bit',
  'galore_adafactor',
  'galore_adamw_layerwise',
  'galore_adamw_8bit_layerwise',
  'galore_adafactor_layerwise',
  'lomo',
  'adalomo',
  'grokadamw',
  'schedule_free_radam',
  'schedule_free_adamw',
  'schedule_free_sgd',
  'apollo_adamw',
  'apollo_adamw_layerwise',
  'stable_adamw',
] as const;

/** Keys of `TrainingArguments` that memory, FLOPs, batch, precision or sharding depend on. */
const heavy = releasedBlock('', DOCS, RELEASED, [
  [
    'per_device_train_batch_size',
    'Samples per GPU and forward pass: the batch that decides how much memory activations take.',
    { sets: 'batch.micro' },
  ],
  [
    'per_gpu_train_batch_size',
    'Old name of `per_device_train_batch_size`.',
    { deprecated: 'per_device_train_batch_size', sets: 'batch.micro' },
  ],
  [
    'gradient_accumulation_steps',
    'Forward and backward passes per optimizer step. Costs next to no memory.',
    { sets: 'batch.accumulation' },
  ],
  [
    'bf16',
    'bf16 autocast over the weights as they were loaded: matrices are multiplied in bf16, weights, gradients and optimizer states stay as they are.',
    {
      fields: [
        'precision.compute',
        'precision.scheme',
        'precision.weights',
        'precision.masterWeights',
        'precision.reduce',
      ],
    },
  ],
  [
    'fp16',
    'fp16 autocast with loss scaling over the weights as they were loaded.',
    {
      fields: [
        'precision.compute',
        'precision.scheme',
        'precision.weights',
        'precision.masterWeights',
        'precision.reduce',
      ],
    },
  ],
  ['tf32', 'Multiply fp32 matrices in TF32: faster, the same memory.', { sets: 'kernels.tf32' }],
  [
    'optim',
    'Optimizer. What it keeps per trained weight is most of the memory of a full fine-tune.',
    {
      default: 'adamw_torch_fused',
      fields: [
        'optimizer.name',
        'optimizer.implementation',
        'optimizer.wideEmbeddings',
        'optimizer.blockSize',
      ],
    },
  ],
  ['optim_args', 'Arguments of the optimizer, `name=value` separated by commas.'],
  ['optim_target_modules', 'Modules that GaLore or APOLLO project.'],
  ['adafactor', 'Old way to ask for Adafactor.', { deprecated: 'optim', fields: ['optimizer.name'] }],
  [
    'gradient_checkpointing',
    'Activation checkpointing: keep the input of each layer only, and compute the rest again in backward.',
    {
      default: false,
      sets: 'activations.checkpointing',
      // Scripts around Unsloth pass its word on to its own functions.
      spellings: { full: [true, 'unsloth'], none: false },
    },
  ],
  [
    'gradient_checkpointing_kwargs',
    'Arguments of `torch.utils.checkpoint`, such as `use_reentrant`.',
    { type: 'object', fields: ['activations.reentrant'] },
  ],
  [
    'activation_checkpointing',
    'Name of `gradient_checkpointing` since transformers 5.',
    {
      sets: 'activations.checkpointing',
      spellings: { full: true, none: false },
      alias: 'gradient_checkpointing',
    },
  ],
  [
    'activation_checkpointing_kwargs',
    'Name of `gradient_checkpointing_kwargs` since transformers 5.',
    { type: 'object', fields: ['activations.reentrant'] },
  ],
  [
    'use_liger_kernel',
    'Liger kernels in place of norms, SwiGLU, RoPE and the loss: the logits are never whole.',
    { sets: 'kernels.liger', assumes: true },
  ],
  ['liger_kernel_config', 'Which Liger kernels to use.'],
  ['torch_compile', 'Compile the model.', { sets: 'kernels.compile', assumes: true }],
  [
    'torch_compile_backend',
    'Backend of `torch.compile`; naming one switches it on.',
    { fields: ['kernels.compile'] },
  ],
  ['torch_compile_mode', 'Mode of `torch.compile`; naming one switches it on.'],
  [
    'fsdp',
    'FSDP options: `full_shard`, `shard_grad_op`, `hybrid_shard`, `offload`, `auto_wrap`.',
    {
      type: 'any',
      fields: ['parallel.data', 'fsdp.strategy', 'fsdp.wrap', 'offload.parameters', 'offload.optimizer'],
    },
  ],
  ['fsdp_config', 'FSDP settings, or the path of a JSON file that holds them.'],
  [
    'fsdp_min_num_params',
    'Old name of `fsdp_config.min_num_params`.',
    { deprecated: 'fsdp_config', fields: ['fsdp.wrap', 'fsdp.minParameters'] },
  ],
  [
    'fsdp_transformer_layer_cls_to_wrap',
    'Old name of `fsdp_config.transformer_layer_cls_to_wrap`.',
    { deprecated: 'fsdp_config', fields: ['fsdp.wrap'] },
  ],
  [
    'deepspeed',
    'DeepSpeed config: the path of a JSON file, or the config itself.',
    { fields: ['parallel.data', 'zero.stage', 'precision.scheme'] },
  ],
  [
    'parallelism_config',
    'Sizes of tensor, context and sequence parallelism (Accelerate).',
    {
      type: 'object',
      fields: ['parallel.tensor', 'parallel.context', 'parallel.ulysses', 'parallel.replicate'],
    },
  ],
  ['ddp_bucket_cap_mb', 'DDP bucket size in MB.', { sets: 'ddp.bucketCap', means: mebibytes }],
  [
    'auto_find_batch_size',
    'Lower the micro batch after every out-of-memory error until a step fits.',
    { sets: 'batch.adaptive' },
  ],
  [
    'torch_empty_cache_steps',
    'Empty the cache of the allocator every so many steps: less reserved memory, slower steps.',
  ],
  [
    'max_steps',
    'Optimizer steps of the whole run; -1: by epochs.',
    { sets: 'schedule.steps', means: positive },
  ],
  ['num_train_epochs', 'Passes over the data.'],
  [
    'per_device_eval_batch_size',
    'Samples per GPU and forward pass of evaluation.',
    { sets: 'evaluation.batch', assumes: true },
  ],
  [
    'per_gpu_eval_batch_size',
    'Old name of `per_device_eval_batch_size`.',
    { deprecated: 'per_device_eval_batch_size', sets: 'evaluation.batch' },
  ],
  [
    'eval_do_concat_batches',
    'Predictions are concatenated batch by batch, which holds old and new at once.',
    { sets: 'evaluation.concatenates' },
  ],
  [
    'batch_eval_metrics',
    'Metrics are computed batch by batch, so that no predictions pile up.',
    { fields: ['evaluation.accumulation'] },
  ],
  [
    'use_cache',
    'The model returns keys and values of all layers in evaluation.',
    { default: null, sets: 'evaluation.keepsCache' },
  ],
  ['predict_with_generate', 'The evaluation generates.', { fields: ['evaluation.generatedTokens'] }],
  [
    'generation_max_length',
    'Tokens that the evaluation generates at most.',
    { sets: 'evaluation.generatedTokens' },
  ],
  ['generation_num_beams', 'Beams of that generation.', { sets: 'evaluation.beams' }],
  [
    'eval_accumulation_steps',
    'Evaluation batches whose predictions stay on the GPU before they move to host memory; unset, all of them stay.',
    { sets: 'evaluation.accumulation' },
  ],
  [
    'eval_strategy',
    'When to evaluate.',
    { values: ['no', 'steps', 'epoch'], fields: ['evaluation.enabled'] },
  ],
  [
    'evaluation_strategy',
    'Name of `eval_strategy` before transformers 4.41.',
    { deprecated: 'eval_strategy', fields: ['evaluation.enabled'] },
  ],
  ['prediction_loss_only', 'Evaluation keeps the loss only, not the predictions.'],
  ['do_eval', 'Evaluate.', { fields: ['evaluation.enabled'] }],
  [
    'group_by_length',
    'Batch samples of similar length. Since transformers 5 `train_sampling_strategy: group_by_length`.',
  ],
  ['neftune_noise_alpha', 'Noise added to the embeddings.'],
  ['label_smoothing_factor', 'Label smoothing: the loss is computed outside of the model.'],
  ['use_cpu', 'Train on the CPU.'],
  ['no_cuda', 'Old name of `use_cpu`.', { deprecated: 'use_cpu' }],
]);

const fsdp = block('fsdp_config', FSDP_DOCS, [
  [
    'version',
    'integer',
    'FSDP 1 or 2. Transformers takes 2 by default from 5.10.',
    { default: 1, fields: ['parallel.data'] },
  ],
  [
    'min_num_params',
    'integer',
    'Smallest module that size-based wrapping wraps.',
    { default: 0, fields: ['fsdp.minParameters'] },
  ],
  ['transformer_layer_cls_to_wrap', 'any', 'Layer classes that are wrapped.', { fields: ['fsdp.wrap'] }],
  [
    'cpu_offload',
    'boolean',
    'Keep and step the weights on the CPU (transformers 5.10 and newer).',
    { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
  ],
  [
    'reshard_after_forward',
    'any',
    'FSDP 2: free the gathered weights after forward.',
    { fields: ['fsdp.strategy'] },
  ],
  [
    'backward_prefetch',
    'string',
    'When the next layer is gathered in backward.',
    { fields: ['fsdp.backwardPrefetch'] },
  ],
  [
    'forward_prefetch',
    'boolean',
    'Gather the next layer early in forward.',
    { default: false, sets: 'fsdp.forwardPrefetch', assumes: true },
  ],
  ['limit_all_gathers', 'boolean', 'At most two layers are gathered at once.', { default: false }],
  [
    'use_orig_params',
    'boolean',
    'Keep the original parameters visible.',
    {
      default: true,
      // `self.fsdp_config.get("use_orig_params", "false")` in 4.35.0, and "true" in 4.36.0; the Trainer of before 4.30 hands nothing on.
      defaults: { of: 'version.transformers', before: false, since: '4.36', after: true },
      sets: 'fsdp.useOriginalParameters',
      assumes: true,
    },
  ],
  ['sync_module_states', 'boolean', 'Broadcast the weights of rank 0.', { default: true }],
  [
    'cpu_ram_efficient_loading',
    'boolean',
    'Only rank 0 loads the checkpoint.',
    { default: false, fields: ['loading.hostCopies'] },
  ],
  [
    'state_dict_type',
    'string',
    'Form of checkpoints.',
    {
      values: ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT'],
      default: null,
      fields: ['saving.weights'],
    },
  ],
  [
    'activation_checkpointing',
    'boolean',
    'Checkpoint the wrapped layers.',
    { default: false, fields: ['activations.checkpointing'] },
  ],
  ['xla', 'boolean', 'FSDP of PyTorch/XLA.', { default: false }],
  ['xla_fsdp_v2', 'boolean', 'Second version of it.', { default: false }],
  ['xla_fsdp_settings', 'object', 'Its settings.'],
  ['xla_fsdp_grad_ckpt', 'boolean', 'Its checkpointing.', { default: false }],
]);

/** Keys of `fsdp_config` as a file of its own has them: at top level, with and without the prefix. */
export const FSDP_FILE_KEYS: readonly KeySpec[] = fsdp.flatMap((spec) => {
  const path = spec.path.replace('fsdp_config.', '');
  return [movedRow(path, spec), movedRow(`fsdp_${path}`, spec)];
});

/** The same, to read the block by wherever it stands. */
export const FSDP_TABLE = new KeyTable(FSDP_FILE_KEYS, 'transformers');

const withPrefix = fsdp.map((spec) => movedRow(spec.path.replace('fsdp_config.', 'fsdp_config.fsdp_'), spec));

const rest = inertKeys(
  '',
  DOCS,
  'Training argument of transformers that costs no GPU memory.',
  {
    released: `output_dir lr_scheduler_type logging_dir logging_strategy log_level log_level_replica run_name project
    save_strategy hub_model_id hub_strategy hub_revision hub_token metric_for_best_model resume_from_checkpoint
    half_precision_backend fp16_backend fp16_opt_level ddp_backend length_column_name mp_parameters
    push_to_hub_model_id push_to_hub_organization push_to_hub_token ray_scope torchdynamo trackio_space_id
    trackio_bucket_id dataloader_multiprocessing_context train_sampling_strategy save_total_limit seed data_seed
    dataloader_num_workers dataloader_prefetch_factor ddp_timeout local_rank past_index tpu_num_cores
    learning_rate warmup_steps warmup_ratio weight_decay adam_beta1 adam_beta2 adam_epsilon max_grad_norm
    logging_steps eval_steps eval_delay save_steps average_tokens_across_devices bf16_full_eval fp16_full_eval
    logging_first_step log_on_each_node logging_nan_inf_filter disable_tqdm eval_on_start eval_use_gather_object
    save_only_model save_on_each_node save_safetensors enable_jit_checkpoint push_to_hub hub_private_repo
    hub_always_push load_best_model_at_end greater_is_better ignore_data_skip
    restore_callback_states_from_checkpoint full_determinism dataloader_drop_last dataloader_pin_memory
    dataloader_persistent_workers dataloader_in_order remove_unused_columns ddp_find_unused_parameters
    ddp_broadcast_buffers ddp_static_graph skip_memory_metrics do_train do_predict overwrite_output_dir
    jit_mode_eval use_ipex use_mps_device use_legacy_prediction_loop include_inputs_for_metrics
    include_tokens_per_second sortish_sampler report_to include_num_input_tokens_seen lr_scheduler_kwargs
    accelerator_config debug trackio_static_space_id generation_config`,
    string: `tpu_metrics_debug`,
    any: `include_for_metrics label_names`,
  },
  RELEASED,
);

/** A `GenerationConfig` that stands in the file. */
const generation = block('', DOCS, [
  ...['max_new_tokens', 'max_length'].map(
    (name): Row => [
      `generation_config.${name}`,
      'integer',
      'Tokens that the evaluation generates at most.',
      { sets: 'evaluation.generatedTokens' },
    ],
  ),
  ['generation_config.num_beams', 'integer', 'Beams of that generation.', { sets: 'evaluation.beams' }],
]);

/** Every argument of `TrainingArguments` of transformers 4 and 5, at top level. */
export const TRAINING_ARGUMENTS_KEYS: readonly KeySpec[] = [
  ...heavy,
  ...fsdp,
  ...withPrefix,
  ...generation,
  ...rest,
];

export const TRAINING_ARGUMENTS_TABLE = new KeyTable(TRAINING_ARGUMENTS_KEYS, 'Trainer', RELEASED);
