import { fileIn, OLMO } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, inertKeys, type Row } from '../key-rows';
import { KeyTable } from '../key-table';

const CONFIG = fileIn(OLMO, 'olmo/config.py');
const INERT = 'Setting of OLMo that costs no GPU memory.';

/** A size or a switch of the model, which is built from all of them together. */
const shape = (name: string, type: Row[1], doc: string, standard: string | number | boolean | null): Row => [
  name,
  type,
  doc,
  { default: standard, fields: ['model.config'] },
];

const MODEL: readonly Row[] = [
  shape('d_model', 'integer', 'Hidden size.', 768),
  shape('n_heads', 'integer', 'Attention heads.', 12),
  shape('n_kv_heads', 'integer', 'Key-value heads; unset as many as there are heads.', null),
  shape('n_layers', 'integer', 'Layers.', 12),
  shape('mlp_ratio', 'integer', 'Width of the MLP over the hidden size.', 4),
  shape(
    'mlp_hidden_size',
    'integer',
    'Width of the MLP, both halves of a gated one, instead of `mlp_ratio`.',
    null,
  ),
  shape(
    'activation_type',
    'string',
    'Activation of the MLP: `swiglu` multiplies one half of it with the other.',
    'swiglu',
  ),
  shape(
    'block_type',
    'string',
    'Layers as OLMo has them, or with the attention of Llama written out.',
    'sequential',
  ),
  shape('clip_qkv', 'number', 'Bound of queries, keys and values.', null),
  shape('alibi', 'boolean', 'Positions by a bias of the scores.', false),
  shape('rope', 'boolean', 'Positions by rotation.', false),
  shape('rope_full_precision', 'boolean', 'Queries and keys are rotated in fp32.', true),
  shape('multi_query_attention', 'boolean', 'One key and value head for all queries (old).', null),
  shape('attention_layer_norm', 'boolean', 'Queries and keys are normed.', false),
  shape('attention_layer_norm_with_affine', 'boolean', 'Norms of queries and keys have weights.', true),
  shape('attention_dropout', 'number', 'Dropout of attention.', 0.1),
  shape('residual_dropout', 'number', 'Dropout of what layers add.', 0.1),
  shape('embedding_dropout', 'number', 'Dropout of embeddings.', 0.1),
  shape('embedding_layer_norm', 'boolean', 'Embeddings are normed.', false),
  shape(
    'layer_norm_type',
    'string',
    'Norm: in fp32 under autocast, in its type, or by the root mean square.',
    'default',
  ),
  shape('layer_norm_with_affine', 'boolean', 'Norms have weights.', true),
  shape('bias_for_layer_norm', 'boolean', 'Norms have biases; unset as linear layers.', null),
  shape('include_bias', 'boolean', 'Linear layers have biases.', true),
  shape('norm_after', 'boolean', 'Norms stand behind attention and MLP.', false),
  shape('vocab_size', 'integer', 'Vocabulary.', 50_257),
  shape('embedding_size', 'integer', 'Rows of the embedding; `null`: those of the vocabulary.', 50_304),
  shape('weight_tying', 'boolean', 'The embedding is the output projection.', true),
  shape('scale_logits', 'boolean', 'Logits are scaled.', false),
  [
    'max_sequence_length',
    'integer',
    'Tokens per sample: training data is cut to this length.',
    { default: 1024, sets: 'batch.sequence', assumes: CONFIG, fields: ['batch.sequence', 'model.config'] },
  ],
  [
    'flash_attention',
    'boolean',
    "flash-attn's kernel; without it PyTorch's own.",
    {
      default: false,
      sets: 'attention.implementation',
      spellings: { flash2: true, sdpa: false },
      assumes: CONFIG,
    },
  ],
  [
    'init_device',
    'string',
    'Where the model is made: FSDP makes its units one by one of `meta`.',
    { default: null, fields: ['loading.placement'] },
  ],
  [
    'block_group_size',
    'integer',
    'Layers in a group, which FSDP can wrap together.',
    { default: 1, fields: ['fsdp.wrap'] },
  ],
];

const TRAINING: readonly Row[] = [
  ['model', 'object', 'Model, spelled out.', { fields: ['model.config'] }],
  [
    'global_train_batch_size',
    'integer',
    'Samples per optimizer step over all GPUs.',
    { default: 512, sets: 'batch.global', assumes: CONFIG },
  ],
  [
    'device_train_microbatch_size',
    'integer',
    'Samples per GPU and forward pass.',
    { default: 16, sets: 'batch.micro', assumes: CONFIG },
  ],
  ['evaluators', 'any', 'What the model is evaluated with.', { fields: ['evaluation.enabled'] }],
  [
    'device_eval_batch_size',
    'integer',
    'Samples per GPU of an evaluation batch.',
    { default: 16, fields: ['evaluation.batch'] },
  ],
  [
    'precision',
    'string',
    'Type that is computed in, by autocast over fp32 weights.',
    {
      values: ['amp_bf16', 'amp_fp16', 'fp32'],
      fields: ['precision.compute', 'precision.scheme', 'precision.weights'],
    },
  ],
  [
    'distributed_strategy',
    'string',
    'How GPUs share the model.',
    { values: ['fsdp', 'ddp', 'single'], default: 'fsdp', fields: ['parallel.data'] },
  ],
  ['fsdp', 'object', 'Settings of FSDP.', { fields: ['parallel.data'] }],
  ['ddp', 'object', 'Settings of DDP.', { default: null }],
  ['single', 'object', 'Settings of a run on one device.'],
  [
    'activation_checkpointing',
    'any',
    'Layers of which only the input is kept.',
    { default: null, fields: ['activations.checkpointing', 'activations.period'] },
  ],
  [
    'fused_loss',
    'boolean',
    "flash-attn's cross-entropy, which makes no fp32 copies of the logits.",
    {
      default: false,
      sets: 'loss.implementation',
      spellings: { compiled: true, full: false },
      assumes: CONFIG,
    },
  ],
  [
    'softmax_auxiliary_loss',
    'boolean',
    'The squared log-sum-exp of the logits is part of the loss; `fused_loss` has it in its kernel.',
    { default: false, sets: 'loss.zLoss' },
  ],
  ['compile', 'object', '`torch.compile` of each layer.', { default: null, fields: ['kernels.compile'] }],
  ['optimizer', 'object', 'Optimizer.', { fields: ['optimizer.name'] }],
  [
    'max_duration',
    'any',
    'Length of the run: steps, `1ep` epochs, `2e12T` tokens.',
    { default: 10_000, fields: ['schedule.steps', 'schedule.tokens'] },
  ],
  ['data', 'object', 'Training data.'],
  [
    'save_interval_unsharded',
    'integer',
    'Steps between checkpoints that are gathered whole.',
    { default: null, fields: ['saving.weights'] },
  ],
];

/** Keys of OLMo's configs. */
export const OLMO_KEYS: readonly KeySpec[] = [
  ...block('', CONFIG, TRAINING),
  ...block('model', CONFIG, MODEL),
  ...inertKeys('model', CONFIG, INERT, {
    any: `alibi_bias_max rope_theta layer_norm_eps eos_token_id pad_token_id init_fn init_std init_cutoff_factor precision
      scale_emb_init emb_init_std`,
  }),
  ...block('fsdp', CONFIG, [
    [
      'wrapping_strategy',
      'string',
      'What FSDP gathers at a time: layers, groups of them, with embedding and head apart or not; `null`: the whole model.',
      {
        values: [
          'by_block',
          'by_block_and_size',
          'by_block_group',
          'by_block_group_and_size',
          'size_based',
          'one_in_two',
          'one_in_three',
          'one_in_four',
          'one_in_five',
        ],
        default: null,
        fields: ['fsdp.wrap', 'fsdp.separateEnds'],
      },
    ],
    [
      'sharding_strategy',
      'string',
      'What FSDP shards.',
      {
        values: ['FULL_SHARD', 'SHARD_GRAD_OP', 'NO_SHARD', 'HYBRID_SHARD', '_HYBRID_SHARD_ZERO2'],
        default: 'FULL_SHARD',
        sets: 'fsdp.strategy',
        spellings: {
          full: 'FULL_SHARD',
          'grad-op': 'SHARD_GRAD_OP',
          none: 'NO_SHARD',
          hybrid: 'HYBRID_SHARD',
          'hybrid-grad-op': '_HYBRID_SHARD_ZERO2',
        },
        assumes: CONFIG,
      },
    ],
    [
      'precision',
      'string',
      '`pure` reduces gradients in the low type, `mixed` in fp32; `null`: weights are gathered in fp32.',
      { values: ['pure', 'mixed'], default: 'pure', fields: ['precision.scheme', 'precision.reduce'] },
    ],
    [
      'use_orig_params',
      'boolean',
      'FSDP keeps the original parameters visible.',
      { default: true, sets: 'fsdp.useOriginalParameters', assumes: CONFIG },
    ],
    [
      'hybrid_sharding_num_model_replicas',
      'integer',
      'Replicas of the model in hybrid sharding; unset: one per node.',
      { default: null, sets: 'parallel.replicate' },
    ],
  ]),
  ...block('ddp', CONFIG, [
    [
      'grad_sync_mode',
      'string',
      'When gradients are reduced.',
      { values: ['batch', 'micro_batch'], default: 'batch' },
    ],
    ['find_unused_params', 'boolean', 'DDP looks for parameters without a gradient.', { default: false }],
  ]),
  ...block('optimizer', CONFIG, [
    [
      'name',
      'string',
      'Optimizer.',
      {
        values: ['adamw', 'lionw', 'decoupled_lionw'],
        default: 'lionw',
        sets: 'optimizer.name',
        spellings: { adamw: 'adamw', lionw: ['lionw', 'decoupled_lionw'] },
        assumes: CONFIG,
      },
    ],
    [
      'selective_updates',
      'boolean',
      'Weights without a gradient are left as they are, by a step weight by weight.',
      { default: false, fields: ['optimizer.implementation'] },
    ],
  ]),
  ...inertKeys('optimizer', CONFIG, INERT, {
    any: `learning_rate weight_decay betas eps no_decay_norm_and_bias decay_norm_and_bias decay_embeddings metrics_log_interval
      record_update_metrics`,
  }),
  ...block('compile', CONFIG, [
    ['mode', 'string', 'Mode of the compiler.', { default: null }],
    ['fullgraph', 'boolean', 'Layers may not break into several graphs.', { default: false }],
    ['backend', 'string', 'Compiler.', { default: 'inductor' }],
    ['dynamic', 'boolean', 'Shapes are traced as variable.', { default: null }],
  ]),
  ...block('data', CONFIG, [
    [
      'generate_doc_lengths',
      'boolean',
      'Tokens attend to their own document alone, in a kernel of flash-attn.',
      { default: false },
    ],
    [
      'generate_attention_mask',
      'boolean',
      'A mask of padding reaches the attention.',
      { default: false, brings: 'written-out-attention' },
    ],
    ['custom_dataset', 'object', 'Data set of your own.', { default: null, fields: ['batch.sequence'] }],
  ]),
  ...inertKeys('data', CONFIG, INERT, {
    any: `paths memmap_dtype datasets label_mask_paths pad_direction num_workers drop_last pin_memory prefetch_factor
      persistent_workers timeout seed instance_filter`,
  }),
  ...inertKeys('', CONFIG, INERT, {
    any: `run_name seed epoch dry_run scheduler restore_dataloader fast_forward_batches eval_interval tokenizer save_folder
      remote_save_folder canceled_check_interval save_interval save_interval_ephemeral save_num_checkpoints_to_keep
      save_num_unsharded_checkpoints_to_keep save_overwrite force_save_unsharded no_pre_train_checkpoint load_path
      load_path_sharded_checkpointer try_load_latest_save reset_optimizer_state reset_trainer_state sharded_checkpointer
      new_style_checkpoints device_train_batch_size eval_subset_num_batches eval_on_load device_train_grad_accum
      max_grad_norm max_grad_norm_ratio wandb speed_monitor console_log_interval gen1_gc_interval auxiliary_loss_multiplier
      time_limit extra_steps_after_cancel early_stopping_factor save_data_indices python_profiling torch_profiling stop_at
      stop_after hf_datasets_cache_dir module_outputs_save_steps`,
  }),
];

export const OLMO_TABLE = new KeyTable(OLMO_KEYS, 'OLMo');
