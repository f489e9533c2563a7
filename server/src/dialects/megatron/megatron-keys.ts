import { flagOf } from '../../config/scalar';
import { fileIn, MEGATRON } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, inertKeys, type ReleasedRow, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { happens } from '../key-value';
import { MEGATRON_CORE_KEYS, MEGATRON_RELEASES } from './core-rows';
import { MEGATRON_DEEPSPEED } from './megatron-repository';

const SOURCE = fileIn(MEGATRON, 'megatron/training/arguments.py');
const CONFIG = fileIn(MEGATRON, 'megatron/core/transformer/transformer_config.py');
const PARALLEL = fileIn(MEGATRON, 'megatron/core/model_parallel_config.py');
const OPTIMIZER = fileIn(MEGATRON, 'megatron/core/optimizer/optimizer_config.py');
const INERT = 'Flag of Megatron-LM that costs no GPU memory.';
const MODEL = ['model.config'] as const;

/** Megatron-LM's flags by name, dashes as underscores, with the old ones. */
export const MEGATRON_KEYS: readonly KeySpec[] = [
  ...releasedBlock('', SOURCE, MEGATRON_RELEASES, [
    ['num_layers', 'Transformer layers.', { fields: MODEL }],
    ['encoder_num_layers', 'Layers of the encoder, or of the only stack.', { fields: MODEL }],
    ['decoder_num_layers', 'Layers of the decoder (T5).', { fields: MODEL }],
    ['hidden_size', 'Width of the model.', { fields: MODEL }],
    [
      'ffn_hidden_size',
      'Width of the MLP. Unset: 4 × hidden size; with `--swiglu` two thirds of it, down to a multiple of 64.',
      { fields: MODEL },
    ],
    ['num_attention_heads', 'Attention heads.', { fields: MODEL }],
    ['kv_channels', 'Size of a head. Unset: hidden size over heads.', { fields: MODEL }],
    ['group_query_attention', 'Key and value heads are shared by groups of heads.', { fields: MODEL }],
    ['num_query_groups', 'Key and value heads, with `--group-query-attention`.', { fields: MODEL }],
    [
      'num_key_value_heads',
      'Key and value heads (Megatron-DeepSpeed).',
      { type: 'integer', default: null, fields: MODEL },
    ],
    [
      'max_position_embeddings',
      'Most positions; rows of the table where they are learned.',
      { fields: MODEL },
    ],
    [
      'position_embedding_type',
      'Kind of positions; learned ones have a table.',
      {
        values: [
          'learned_absolute',
          'rope',
          'yarn',
          'mrope',
          'relative',
          'none',
          'absolute',
          'rotary',
          'alibi',
        ],
        fields: MODEL,
      },
    ],
    ['rotary_percent', 'Share of each head that is rotated.', { fields: MODEL }],
    ['use_rotary_position_embeddings', 'Rotary positions.', { deprecated: 'position_embedding_type' }],
    [
      'no_position_embedding',
      'No table of positions.',
      { deprecated: 'position_embedding_type', default: false },
    ],
    ['normalization', 'Norm.', { values: ['LayerNorm', 'RMSNorm', 'L2Norm'], fields: MODEL }],
    ['qk_layernorm', 'Queries and keys are normed.', { fields: MODEL }],
    ['swiglu', 'Gated MLP with SiLU instead of GELU.', { fields: MODEL }],
    ['squared_relu', 'Squared ReLU instead of GELU.', { fields: MODEL }],
    ['quick_geglu', 'Gated MLP with quick GELU.', { fields: MODEL }],
    ['glu_activation', 'Gated MLP (Megatron-DeepSpeed).', { type: 'string', default: null, fields: MODEL }],
    ['disable_bias_linear', 'Linear layers have no bias.', { fields: MODEL }],
    ['add_qkv_bias', 'Only the joint query, key and value projection has a bias.', { fields: MODEL }],
    ['untie_embeddings_and_output_weights', 'The head has a matrix of its own.', { fields: MODEL }],
    [
      'embed_layernorm',
      'Norm behind the embedding (Megatron-DeepSpeed).',
      { type: 'boolean', default: false, fields: MODEL },
    ],
    [
      'make_vocab_size_divisible_by',
      'The vocabulary is padded to a multiple of this times the tensor-parallel size.',
      { sets: 'parallel.vocabularyMultiple', assumes: SOURCE },
    ],
    [
      'pad_vocab_size_to',
      'Rows of the embedding (Megatron-DeepSpeed).',
      { type: 'integer', default: null, fields: MODEL },
    ],
    ['padded_vocab_size', 'Rows of the embedding.', { fields: MODEL }],
    ['vocab_size', 'Entries of the vocabulary, before padding.', { fields: MODEL }],
    ['tokenizer_type', 'Tokenizer; its vocabulary gives the rows of the embedding.', { fields: MODEL }],
    ['tokenizer_model', 'File or repository of the tokenizer.', { fields: MODEL }],
    ['tokenizer_name_or_path', 'File or repository of the tokenizer.', { type: 'string', fields: MODEL }],
    [
      'hybrid_layer_pattern',
      'Layers as letters: M Mamba, * attention, + latent attention, - MLP, E experts; | bounds pipeline stages, / begins layers for further tokens.',
      { fields: [...MODEL, 'parallel.stageLayers'] },
    ],
    ['hybrid_override_pattern', 'Layers as letters.', { deprecated: 'hybrid_layer_pattern' }],
    ['hybrid_attention_ratio', 'Share of layers that are attention (old).', { fields: MODEL }],
    ['hybrid_mlp_ratio', 'Share of layers that are MLPs (old).', { fields: MODEL }],
    [
      'is_hybrid_model',
      'Layers are of one branch each, Mamba where nothing says otherwise.',
      { fields: MODEL },
    ],
    ['mamba_state_dim', 'State of a Mamba head.', { fields: MODEL }],
    ['mamba_head_dim', 'Size of a Mamba head.', { fields: MODEL }],
    ['mamba_num_groups', 'Groups of a Mamba layer.', { fields: MODEL }],
    ['mamba_num_heads', 'Heads of a Mamba layer.', { fields: MODEL }],
    ['window_size', 'Window of attention.', { fields: MODEL }],
    ['attention_dropout', 'Dropout of attention.', { fields: MODEL }],
    ['hidden_dropout', 'Dropout of the branches; above 0 each keeps a mask.', { fields: MODEL }],
    ['num_experts', 'Experts.', { fields: MODEL }],
    ['moe_router_topk', 'Experts that a token takes.', { fields: MODEL }],
    ['topk', 'Experts that a token takes (old).', { type: 'integer', default: 2 }],
    ['moe_ffn_hidden_size', 'Width of an expert. Unset: that of the MLP.', { fields: MODEL }],
    [
      'moe_layer_freq',
      'Every N-th layer has experts, or a list expression of zeros and ones.',
      { fields: MODEL },
    ],
    ['moe_shared_expert_intermediate_size', 'Width of the shared expert.', { fields: MODEL }],
    ['moe_latent_size', 'Width that routed experts work in, between two linear layers.', { fields: MODEL }],
    ['moe_shared_expert_gate', 'The shared expert is gated.', { fields: MODEL }],
    ['moe_router_score_function', 'Scores of the router.', { fields: MODEL }],
    ['moe_router_dtype', 'Type of the router.', { values: ['fp32', 'fp64'], fields: MODEL }],
    ['moe_router_enable_expert_bias', 'A bias balances the experts.', { fields: MODEL }],
    ['multi_latent_attention', "DeepSeek's attention.", { fields: MODEL }],
    ['q_lora_rank', "Rank of the queries' latent.", { fields: MODEL }],
    ['kv_lora_rank', 'Rank of the latent of keys and values.', { fields: MODEL }],
    ['qk_head_dim', 'Part of a head without positions.', { fields: MODEL }],
    ['qk_pos_emb_head_dim', 'Part of a head with rotary positions.', { fields: MODEL }],
    ['v_head_dim', 'Size of a value head.', { fields: MODEL }],
    ['micro_batch_size', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ['batch_size', 'Old name.', { deprecated: 'micro_batch_size', sets: 'batch.micro' }],
    [
      'global_batch_size',
      'Samples per step over all GPUs. Unset: micro batch × data-parallel size.',
      { sets: 'batch.global' },
    ],
    [
      'step_batch_size_schedule',
      'Global batch by tokens seen: `0:384 200B:768`.',
      { fields: ['batch.global'] },
    ],
    ['rampup_batch_size', 'Start, increment and samples of a growing global batch.', { type: 'any' }],
    ['seq_length', 'Tokens per sample.', { sets: 'batch.sequence' }],
    ['encoder_seq_length', 'Tokens per sample.', { sets: 'batch.sequence', alias: 'seq_length' }],
    ['decoder_seq_length', 'Tokens of the target.', { sets: 'batch.targetSequence' }],
    ['train_iters', 'Optimizer steps of the whole run.', { sets: 'schedule.steps' }],
    ['train_samples', 'Samples of the whole run.', { fields: ['schedule.tokens'] }],
    [
      'train_tokens',
      'Tokens of the whole run (Megatron-DeepSpeed).',
      { type: 'integer', default: null, sets: 'schedule.tokens' },
    ],
    [
      'no_create_attention_mask_in_dataloader',
      'The data loader makes no masks: kernels know that attention is causal.',
      { sets: 'batch.pairMask', means: (node) => (flagOf(node) === true ? false : undefined) },
    ],
    ['eval_iters', 'Steps of a validation.', { sets: 'evaluation.enabled', means: happens }],
    [
      'bf16',
      'bf16 weights with fp32 masters and main gradients.',
      {
        fields: [
          'precision.weights',
          'precision.compute',
          'precision.gradientAccumulation',
          'precision.scheme',
        ],
      },
    ],
    [
      'fp16',
      'fp16 weights with fp32 masters.',
      {
        fields: [
          'precision.weights',
          'precision.compute',
          'precision.scheme',
          'precision.gradientAccumulation',
        ],
      },
    ],
    [
      'accumulate_allreduce_grads_in_fp32',
      'Main gradients in fp32; always so under bf16.',
      { fields: ['precision.gradientAccumulation'] },
    ],
    ['grad_reduce_in_bf16', 'Main gradients in bf16.', { fields: ['precision.gradientAccumulation'] }],
    [
      'optimizer',
      'Optimizer.',
      {
        values: ['adam', 'sgd', 'muon', 'dist_muon', 'lion', 'soap', 'adaptive_muon'],
        fields: ['optimizer.name', 'optimizer.implementation', 'features.unmodelled'],
      },
    ],
    ['use_flash_attn', 'Flash attention.', { fields: ['attention.implementation'] }],
    [
      'attention_backend',
      'Kernel of attention.',
      {
        type: 'string',
        values: ['flash', 'fused', 'unfused', 'local', 'auto'],
        default: 'auto',
        fields: ['attention.implementation'],
      },
    ],
    ...['use_flash_attn_v1', 'use_flash_attn_v2', 'use_flash_attn_triton', 'use_flash_attn_builder'].map(
      (name): ReleasedRow => [
        name,
        'FlashAttention, in the fork with DeepSpeed beneath.',
        { type: 'boolean', fields: ['attention.implementation'] },
      ],
    ),
    [
      'transformer_impl',
      "Transformer Engine's or Megatron's own modules.",
      {
        values: ['local', 'transformer_engine', 'inference_optimized'],
        fields: ['attention.implementation', 'kernels.transformerEngine'],
      },
    ],
    [
      'moe_grouped_gemm',
      'The experts of a GPU run as one grouped product.',
      { sets: 'kernels.groupedExperts' },
    ],
    [
      'defer_embedding_wgrad_compute',
      "The head's gradients are taken after the pipeline has run dry.",
      { fields: ['features.unmodelled'] },
    ],
    [
      'fine_grained_activation_offloading',
      'Activations of some modules go to host memory.',
      { fields: ['features.unmodelled'] },
    ],
    [
      'cpu_offloading',
      'Activations and weights of some layers go to host memory.',
      { fields: ['features.unmodelled'] },
    ],
    [
      'cuda_graph_impl',
      'Layers run as CUDA graphs.',
      { values: ['none', 'local', 'transformer_engine', 'full_iteration'], fields: ['features.unmodelled'] },
    ],
    ['enable_cuda_graph', 'Layers run as CUDA graphs.', { fields: ['features.unmodelled'] }],
    [
      'external_cuda_graph',
      'Layers run as CUDA graphs of Transformer Engine.',
      { fields: ['features.unmodelled'] },
    ],
    [
      'perform_rl_step',
      'The model is trained by reinforcement, and generates by itself.',
      { fields: ['features.unmodelled'] },
    ],
    [
      'export_kd_teacher_load',
      'Checkpoint of the teacher of distillation.',
      { type: 'string', default: null, fields: ['features.unmodelled'] },
    ],
    [
      'use_torch_fsdp2',
      "torch's FSDP 2.",
      { fields: ['parallel.data', 'fsdp.strategy', 'precision.scheme'] },
    ],
    [
      'use_megatron_fsdp',
      'Megatron-FSDP.',
      { fields: ['parallel.data', 'fsdp.strategy', 'precision.scheme', 'features.unmodelled'] },
    ],
    [
      'use_custom_fsdp',
      'Old name.',
      {
        deprecated: 'use_megatron_fsdp',
        fields: ['parallel.data', 'fsdp.strategy', 'precision.scheme', 'features.unmodelled'],
      },
    ],
    [
      'data_parallel_sharding_strategy',
      'What Megatron-FSDP shards.',
      {
        values: ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'],
        default: 'no_shard',
        fields: ['parallel.data'],
      },
    ],
    [
      'intra_layer_model_parallel_size',
      'Name of old forks.',
      { type: 'integer', sets: 'parallel.tensor', least: 1, alias: 'tensor_model_parallel_size' },
    ],
    [
      'model_parallel_size',
      'Old name.',
      { deprecated: 'tensor_model_parallel_size', sets: 'parallel.tensor', least: 1 },
    ],
    [
      'inter_layer_model_parallel_size',
      'Name of old forks.',
      { type: 'integer', sets: 'parallel.pipeline', least: 1, alias: 'pipeline_model_parallel_size' },
    ],
    [
      'pipe_parallel_size',
      'Name of old forks.',
      {
        type: 'integer',
        default: null,
        sets: 'parallel.pipeline',
        least: 1,
        alias: 'pipeline_model_parallel_size',
      },
    ],
    [
      'moe_expert_parallel_size',
      'Name of old forks.',
      { type: 'integer', sets: 'parallel.expert', least: 1, alias: 'expert_model_parallel_size' },
    ],
    [
      'distribute_checkpointed_activations',
      'Name of old forks.',
      { type: 'boolean', sets: 'activations.distributed', alias: 'distribute_saved_activations' },
    ],
    [
      'num_layers_in_first_pipeline_stage',
      'Layers of the first stage.',
      { sets: 'parallel.firstStageLayers', alias: 'decoder_first_pipeline_num_layers' },
    ],
    [
      'num_layers_in_last_pipeline_stage',
      'Layers of the last stage.',
      { sets: 'parallel.lastStageLayers', alias: 'decoder_last_pipeline_num_layers' },
    ],
    ['warmup', 'Old name.', { type: 'any', deprecated: 'lr_warmup_fraction' }],
  ]),
  ...MEGATRON_CORE_KEYS,
  ...block('', PARALLEL, [
    [
      'pipeline_model_parallel_layout',
      'any',
      'Layers of each stage as letters.',
      {
        default: null,
        fields: ['parallel.stageLayers', 'parallel.virtualStages', 'parallel.pipelineSchedule'],
      },
    ],
  ]),
  ...releasedBlock('', CONFIG, MEGATRON_RELEASES, [
    [
      'recompute_granularity',
      'Recompute whole layers or attention only.',
      { values: ['full', 'selective'], fields: ['activations.checkpointing'] },
    ],
    [
      'recompute_activations',
      'Short for `--recompute-granularity selective`.',
      { fields: ['activations.checkpointing'] },
    ],
    [
      'checkpoint_activations',
      'Recompute whole layers (Megatron-DeepSpeed; Megatron-LM refuses it).',
      { fields: ['activations.checkpointing'] },
    ],
    [
      'checkpoint_num_layers',
      'Layers of a segment.',
      { type: 'integer', default: 1, fields: ['activations.checkpointEvery'] },
    ],
    [
      'activations_checkpoint_method',
      'Recompute whole layers (Megatron-LM before 3.0).',
      { type: 'string', default: null, values: ['uniform', 'block'], fields: ['activations.checkpointing'] },
    ],
    [
      'activations_checkpoint_num_layers',
      'Layers of a segment (Megatron-LM before 3.0).',
      { type: 'integer', default: 1, fields: ['activations.checkpointEvery'] },
    ],
  ]),
  ...block('', OPTIMIZER, [
    [
      'num_distributed_optimizer_instances',
      'integer',
      'Groups of ranks that shard states among themselves.',
      { default: 1, fields: ['parallel.replicate'] },
    ],
  ]),
  ...block('', fileIn(MEGATRON_DEEPSPEED, 'megatron/arguments.py'), [
    [
      'deepspeed',
      'boolean',
      'DeepSpeed runs the steps.',
      { default: false, fields: ['precision.scheme', 'parallel.data', 'zero.stage'] },
    ],
    ['deepspeed_config', 'string', "DeepSpeed's JSON.", { fields: ['precision.scheme', 'parallel.data'] }],
    [
      'zero_stage',
      'integer',
      'ZeRO stage; must agree with the JSON.',
      { default: 1, sets: 'zero.stage', fields: ['parallel.data'] },
    ],
    [
      'cpu_optimizer',
      'boolean',
      'Masters and states lie in host memory.',
      { default: false, fields: ['offload.optimizer'] },
    ],
    [
      'use_bnb_optimizer',
      'boolean',
      '8-bit Adam of bitsandbytes.',
      { default: false, fields: ['optimizer.name'] },
    ],
    ['deepspeed_activation_checkpointing', 'boolean', "DeepSpeed's checkpointing.", { default: false }],
    [
      'checkpoint_in_cpu',
      'boolean',
      'Move checkpoints to host memory.',
      { default: false, fields: ['activations.offload'] },
    ],
    [
      'partition_activations',
      'boolean',
      'Checkpoints are split over tensor-parallel ranks.',
      { default: false, fields: ['activations.distributed'] },
    ],
  ]),
  ...inertKeys(
    '',
    SOURCE,
    INERT,
    {
      released: `overlap_grad_reduce overlap_param_gather lr min_lr lr_decay_style lr_decay_iters lr_decay_samples
      lr_warmup_iters lr_warmup_samples lr_warmup_fraction weight_decay clip_grad adam_beta1 adam_beta2 adam_eps
      init_method_std seed split vocab_file merge_file data_cache_path load save save_interval log_interval
      eval_interval tensorboard_dir wandb_project distributed_backend use_mcore_models
      no_async_tensor_model_parallel_allreduce moe_token_dispatcher_type rotary_base attention_softmax_in_fp32
      num_workers apply_layernorm_1p finetune no_load_optim no_load_rng ckpt_format dist_ckpt_format dataloader_type
      distributed_timeout_minutes distributed_timeout_seconds_after_init exit_duration_in_mins exit_signal_handler
      exit_on_missing_checkpoint override_opt_param_scheduler use_checkpoint_opt_param_scheduler
      ckpt_fully_parallel_load ckpt_assume_constant_structure auto_detect_ckpt_format dist_ckpt_strictness
      no_check_for_nan_in_loss_and_grad manual_gc mock_data eod_mask_loss async_strategy trust_remote_code
      initial_loss_scale min_loss_scale loss_scale loss_scale_window hysteresis init_method_xavier_uniform
      embedding_init_method_std tensorboard_queue_size tokenizer_metadata fim_data fim_rate fim_spm_rate
      moe_router_topk_scaling_factor moe_router_bias_update_rate moe_router_force_load_balancing
      flight_recorder_trace_buffer_size nvtx_ranges high_priority_stream_groups fp8_margin fp8_amax_history_len
      fp8_amax_compute_algo`,
      any: `data_path moe_router_load_balancing_type moe_aux_loss_coeff top_k top_p temperature`,
    },
    MEGATRON_RELEASES,
  ),
];

/** Read by whoever takes these arguments, under whatever names of its own (`SpelledSection`). */
export const MEGATRON_TABLE = new KeyTable(MEGATRON_KEYS, 'Megatron', MEGATRON_RELEASES);
