import RELEASES from '../../../data/framework-keys/megatron.jsonl' with { type: 'text' };
import { fileIn, MEGATRON, MEGATRON_DEEPSPEED } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';
import { happens } from '../key-value';
import { MEGATRON_CORE_KEYS } from './core-rows';

const SOURCE = fileIn(MEGATRON, 'megatron/training/arguments.py');
const CONFIG = fileIn(MEGATRON, 'megatron/core/transformer/transformer_config.py');
const PARALLEL = fileIn(MEGATRON, 'megatron/core/model_parallel_config.py');
const OPTIMIZER = fileIn(MEGATRON, 'megatron/core/optimizer/optimizer_config.py');
const SILENT = 'Flag of Megatron-LM that costs no GPU memory.';
const MODEL = ['model.config'] as const;

/** Megatron-LM's flags by name, dashes as underscores, with the old ones. */
export const MEGATRON_KEYS: readonly KeySpec[] = [
  ...block('', SOURCE, [
    ['num_layers', 'integer', 'Transformer layers.', { fields: MODEL }],
    ['encoder_num_layers', 'integer', 'Layers of the encoder, or of the only stack.', { fields: MODEL }],
    ['decoder_num_layers', 'integer', 'Layers of the decoder (T5).', { fields: MODEL }],
    ['hidden_size', 'integer', 'Width of the model.', { fields: MODEL }],
    [
      'ffn_hidden_size',
      'integer',
      'Width of the MLP. Unset: 4 x hidden size; with `--swiglu` two thirds of it, down to a multiple of 64.',
      { default: null, fields: MODEL },
    ],
    ['num_attention_heads', 'integer', 'Attention heads.', { fields: MODEL }],
    [
      'kv_channels',
      'integer',
      'Size of a head. Unset: hidden size over heads.',
      { default: null, fields: MODEL },
    ],
    [
      'group_query_attention',
      'boolean',
      'Key and value heads are shared by groups of heads.',
      { default: false, fields: MODEL },
    ],
    [
      'num_query_groups',
      'integer',
      'Key and value heads, with `--group-query-attention`.',
      { default: 1, fields: MODEL },
    ],
    [
      'max_position_embeddings',
      'integer',
      'Most positions; rows of the table where they are learned.',
      { fields: MODEL },
    ],
    [
      'position_embedding_type',
      'string',
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
        default: 'learned_absolute',
        fields: MODEL,
      },
    ],
    ['rotary_percent', 'number', 'Share of each head that is rotated.', { default: 1, fields: MODEL }],
    [
      'use_rotary_position_embeddings',
      'boolean',
      'Rotary positions.',
      { deprecated: 'position_embedding_type', default: false },
    ],
    [
      'no_position_embedding',
      'boolean',
      'No table of positions.',
      { deprecated: 'position_embedding_type', default: false },
    ],
    [
      'normalization',
      'string',
      'Norm.',
      { values: ['LayerNorm', 'RMSNorm', 'L2Norm'], default: 'LayerNorm', fields: MODEL },
    ],
    ['qk_layernorm', 'boolean', 'Queries and keys are normed.', { default: false, fields: MODEL }],
    ['swiglu', 'boolean', 'Gated MLP with SiLU instead of GELU.', { default: false, fields: MODEL }],
    ['squared_relu', 'boolean', 'Squared ReLU instead of GELU.', { default: false, fields: MODEL }],
    ['quick_geglu', 'boolean', 'Gated MLP with quick GELU.', { default: false, fields: MODEL }],
    ['glu_activation', 'string', 'Gated MLP (Megatron-DeepSpeed).', { default: null, fields: MODEL }],
    ['disable_bias_linear', 'boolean', 'Linear layers have no bias.', { default: false, fields: MODEL }],
    [
      'add_qkv_bias',
      'boolean',
      'Only the joint query, key and value projection has a bias.',
      { default: false, fields: MODEL },
    ],
    [
      'untie_embeddings_and_output_weights',
      'boolean',
      'The head has a matrix of its own.',
      { default: false, fields: MODEL },
    ],
    [
      'embed_layernorm',
      'boolean',
      'Norm behind the embedding (Megatron-DeepSpeed).',
      { default: false, fields: MODEL },
    ],
    [
      'make_vocab_size_divisible_by',
      'integer',
      'The vocabulary is padded to a multiple of this times the tensor-parallel size.',
      { default: 128, sets: 'parallel.vocabularyMultiple', assumes: SOURCE },
    ],
    [
      'pad_vocab_size_to',
      'integer',
      'Rows of the embedding (Megatron-DeepSpeed).',
      { default: null, fields: MODEL },
    ],
    ['padded_vocab_size', 'integer', 'Rows of the embedding.', { default: null, fields: MODEL }],
    ['vocab_size', 'integer', 'Entries of the vocabulary, before padding.', { default: null, fields: MODEL }],
    [
      'tokenizer_type',
      'string',
      'Tokenizer; its vocabulary gives the rows of the embedding.',
      { fields: MODEL },
    ],
    ['tokenizer_model', 'string', 'File or repository of the tokenizer.', { fields: MODEL }],
    ['tokenizer_name_or_path', 'string', 'File or repository of the tokenizer.', { fields: MODEL }],
    [
      'hybrid_layer_pattern',
      'string',
      'Layers as letters: M Mamba, * attention, - MLP.',
      { default: null, fields: MODEL },
    ],
    [
      'hybrid_override_pattern',
      'string',
      'Layers as letters.',
      { deprecated: 'hybrid_layer_pattern', default: null },
    ],
    ['mamba_state_dim', 'integer', 'State of a Mamba head.', { default: 128, fields: MODEL }],
    ['mamba_head_dim', 'integer', 'Size of a Mamba head.', { default: 64, fields: MODEL }],
    ['mamba_num_groups', 'integer', 'Groups of a Mamba layer.', { default: 8, fields: MODEL }],
    ['mamba_num_heads', 'integer', 'Heads of a Mamba layer.', { default: null, fields: MODEL }],
    ['window_size', 'any', 'Window of attention.', { default: null, fields: MODEL }],
    ['attention_dropout', 'number', 'Dropout of attention.', { default: 0.1, fields: MODEL }],
    [
      'hidden_dropout',
      'number',
      'Dropout of the branches; above 0 each keeps a mask.',
      { default: 0.1, fields: MODEL },
    ],
    ['num_experts', 'integer', 'Experts.', { default: null, fields: MODEL }],
    ['moe_router_topk', 'integer', 'Experts that a token takes.', { default: 2, fields: MODEL }],
    ['topk', 'integer', 'Experts that a token takes (old).', { default: 2 }],
    [
      'moe_ffn_hidden_size',
      'integer',
      'Width of an expert. Unset: that of the MLP.',
      { default: null, fields: MODEL },
    ],
    [
      'moe_layer_freq',
      'any',
      'Every N-th layer has experts, or a list expression of zeros and ones.',
      { default: 1, fields: MODEL },
    ],
    [
      'moe_shared_expert_intermediate_size',
      'integer',
      'Width of the shared expert.',
      { default: null, fields: MODEL },
    ],
    ['moe_shared_expert_gate', 'boolean', 'The shared expert is gated.', { default: false, fields: MODEL }],
    ['moe_router_score_function', 'string', 'Scores of the router.', { default: 'softmax', fields: MODEL }],
    [
      'moe_router_dtype',
      'string',
      'Type of the router.',
      { values: ['fp32', 'fp64'], default: null, fields: MODEL },
    ],
    [
      'moe_router_enable_expert_bias',
      'boolean',
      'A bias balances the experts.',
      { default: false, fields: MODEL },
    ],
    ['multi_latent_attention', 'boolean', "DeepSeek's attention.", { default: false, fields: MODEL }],
    ['q_lora_rank', 'integer', "Rank of the queries' latent.", { default: null, fields: MODEL }],
    ['kv_lora_rank', 'integer', 'Rank of the latent of keys and values.', { default: 32, fields: MODEL }],
    ['qk_head_dim', 'integer', 'Part of a head without positions.', { default: 128, fields: MODEL }],
    [
      'qk_pos_emb_head_dim',
      'integer',
      'Part of a head with rotary positions.',
      { default: 64, fields: MODEL },
    ],
    ['v_head_dim', 'integer', 'Size of a value head.', { default: 128, fields: MODEL }],
    ['micro_batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    [
      'batch_size',
      'integer',
      'Old name.',
      { deprecated: 'micro_batch_size', default: null, sets: 'batch.micro' },
    ],
    [
      'global_batch_size',
      'integer',
      'Samples per step over all GPUs. Unset: micro batch x data-parallel size.',
      { default: null, sets: 'batch.global' },
    ],
    [
      'step_batch_size_schedule',
      'string',
      'Global batch by tokens seen: `0:384 200B:768`.',
      { default: null, fields: ['batch.global'] },
    ],
    [
      'rampup_batch_size',
      'any',
      'Start, increment and samples of a growing global batch.',
      { default: null },
    ],
    ['seq_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
    ['encoder_seq_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence', alias: 'seq_length' }],
    [
      'decoder_seq_length',
      'integer',
      'Tokens of the target.',
      { default: null, sets: 'batch.targetSequence' },
    ],
    [
      'train_iters',
      'integer',
      'Optimizer steps of the whole run.',
      { default: null, sets: 'schedule.steps' },
    ],
    ['train_samples', 'integer', 'Samples of the whole run.', { default: null, fields: ['schedule.tokens'] }],
    [
      'train_tokens',
      'integer',
      'Tokens of the whole run (Megatron-DeepSpeed).',
      { default: null, sets: 'schedule.tokens' },
    ],
    [
      'eval_iters',
      'integer',
      'Steps of a validation.',
      { default: 100, sets: 'evaluation.enabled', means: happens },
    ],
    [
      'bf16',
      'boolean',
      'bf16 weights with fp32 masters and main gradients.',
      {
        default: false,
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
      'boolean',
      'fp16 weights with fp32 masters.',
      {
        default: false,
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
      'boolean',
      'Main gradients in fp32; always so under bf16.',
      { default: false, fields: ['precision.gradientAccumulation'] },
    ],
    [
      'grad_reduce_in_bf16',
      'boolean',
      'Main gradients in bf16.',
      { default: false, fields: ['precision.gradientAccumulation'] },
    ],
    [
      'optimizer',
      'string',
      'Optimizer.',
      {
        values: ['adam', 'sgd', 'muon', 'dist_muon', 'lion', 'soap', 'adaptive_muon'],
        default: 'adam',
        fields: ['optimizer.name', 'optimizer.implementation'],
      },
    ],
    [
      'use_flash_attn',
      'boolean',
      'Flash attention.',
      { default: false, fields: ['attention.implementation'] },
    ],
    [
      'attention_backend',
      'string',
      'Kernel of attention.',
      {
        values: ['flash', 'fused', 'unfused', 'local', 'auto'],
        default: 'auto',
        fields: ['attention.implementation'],
      },
    ],
    [
      'transformer_impl',
      'string',
      "Transformer Engine's or Megatron's own modules.",
      {
        values: ['local', 'transformer_engine', 'inference_optimized'],
        default: 'transformer_engine',
        fields: ['attention.implementation', 'kernels.transformerEngine'],
      },
    ],
    [
      'moe_grouped_gemm',
      'boolean',
      'The experts of a GPU run as one grouped product.',
      { default: false, sets: 'kernels.groupedExperts' },
    ],
    [
      'defer_embedding_wgrad_compute',
      'boolean',
      "The head's gradients are taken after the pipeline has run dry.",
      { default: false, fields: ['features.unmodelled'] },
    ],
    [
      'fine_grained_activation_offloading',
      'boolean',
      'Activations of some modules go to host memory.',
      { default: false, fields: ['features.unmodelled'] },
    ],
    [
      'cpu_offloading',
      'boolean',
      'Activations and weights of some layers go to host memory.',
      { default: false, fields: ['features.unmodelled'] },
    ],
    [
      'cuda_graph_impl',
      'string',
      'Layers run as CUDA graphs.',
      {
        values: ['none', 'local', 'transformer_engine', 'full_iteration'],
        default: 'none',
        fields: ['features.unmodelled'],
      },
    ],
    [
      'enable_cuda_graph',
      'boolean',
      'Layers run as CUDA graphs.',
      { default: false, fields: ['features.unmodelled'] },
    ],
    [
      'external_cuda_graph',
      'boolean',
      'Layers run as CUDA graphs of Transformer Engine.',
      { default: false, fields: ['features.unmodelled'] },
    ],
    [
      'perform_rl_step',
      'boolean',
      'The model is trained by reinforcement, and generates by itself.',
      { default: false, fields: ['features.unmodelled'] },
    ],
    [
      'export_kd_teacher_load',
      'string',
      'Checkpoint of the teacher of distillation.',
      { default: null, fields: ['features.unmodelled'] },
    ],
    [
      'use_torch_fsdp2',
      'boolean',
      "torch's FSDP 2.",
      { default: false, fields: ['parallel.data', 'fsdp.strategy', 'precision.scheme'] },
    ],
    [
      'use_megatron_fsdp',
      'boolean',
      'Megatron-FSDP.',
      { default: false, fields: ['parallel.data', 'fsdp.strategy', 'precision.scheme'] },
    ],
    [
      'use_custom_fsdp',
      'boolean',
      'Old name.',
      {
        deprecated: 'use_megatron_fsdp',
        default: false,
        fields: ['parallel.data', 'fsdp.strategy', 'precision.scheme'],
      },
    ],
    [
      'data_parallel_sharding_strategy',
      'string',
      'What Megatron-FSDP shards.',
      {
        values: ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'],
        default: 'no_shard',
        fields: ['parallel.data'],
      },
    ],
    [
      'intra_layer_model_parallel_size',
      'integer',
      'Name of old forks.',
      { sets: 'parallel.tensor', alias: 'tensor_model_parallel_size' },
    ],
    [
      'model_parallel_size',
      'integer',
      'Old name.',
      { deprecated: 'tensor_model_parallel_size', default: null, sets: 'parallel.tensor' },
    ],
    [
      'inter_layer_model_parallel_size',
      'integer',
      'Name of old forks.',
      { sets: 'parallel.pipeline', alias: 'pipeline_model_parallel_size' },
    ],
    [
      'pipe_parallel_size',
      'integer',
      'Name of old forks.',
      { default: null, sets: 'parallel.pipeline', alias: 'pipeline_model_parallel_size' },
    ],
    [
      'moe_expert_parallel_size',
      'integer',
      'Name of old forks.',
      { sets: 'parallel.expert', alias: 'expert_model_parallel_size' },
    ],
    [
      'distribute_checkpointed_activations',
      'boolean',
      'Name of old forks.',
      { sets: 'activations.distributed', alias: 'distribute_saved_activations' },
    ],
    [
      'num_layers_in_first_pipeline_stage',
      'integer',
      'Layers of the first stage.',
      { default: null, sets: 'parallel.firstStageLayers', alias: 'decoder_first_pipeline_num_layers' },
    ],
    [
      'num_layers_in_last_pipeline_stage',
      'integer',
      'Layers of the last stage.',
      { default: null, sets: 'parallel.lastStageLayers', alias: 'decoder_last_pipeline_num_layers' },
    ],
    ['warmup', 'any', 'Old name.', { deprecated: 'lr_warmup_fraction', default: null }],
  ]),
  ...MEGATRON_CORE_KEYS,
  ...block('', PARALLEL, [
    ['pipeline_model_parallel_layout', 'string', 'Layers of each stage as letters.', { default: null }],
  ]),
  ...block('', CONFIG, [
    [
      'recompute_granularity',
      'string',
      'Recompute whole layers or attention only.',
      { values: ['full', 'selective'], default: null, fields: ['activations.checkpointing'] },
    ],
    [
      'recompute_activations',
      'boolean',
      'Short for `--recompute-granularity selective`.',
      { default: false, fields: ['activations.checkpointing'] },
    ],
    [
      'checkpoint_activations',
      'boolean',
      'Recompute whole layers (Megatron-DeepSpeed; Megatron-LM refuses it).',
      { default: false, fields: ['activations.checkpointing'] },
    ],
    [
      'checkpoint_num_layers',
      'integer',
      'Layers of a segment.',
      { default: 1, fields: ['activations.checkpointEvery'] },
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
  ...inertKeys('', SOURCE, SILENT, {
    any: 'overlap_grad_reduce overlap_param_gather lr min_lr lr_decay_style lr_decay_iters lr_decay_samples lr_warmup_iters lr_warmup_samples lr_warmup_fraction weight_decay clip_grad adam_beta1 adam_beta2 adam_eps init_method_std seed data_path split vocab_file merge_file data_cache_path load save save_interval log_interval eval_interval tensorboard_dir wandb_project distributed_backend use_mcore_models no_async_tensor_model_parallel_allreduce moe_token_dispatcher_type moe_router_load_balancing_type moe_aux_loss_coeff rotary_base attention_softmax_in_fp32 num_workers top_k top_p temperature',
  }),
];

/** Read by whoever takes these arguments, under whatever names of its own (`SpelledSection`). */
export const MEGATRON_TABLE = new KeyTable(
  MEGATRON_KEYS,
  'Megatron',
  new ReleasedKeys([new FrameworkKeys(RELEASES), 'arguments', 'TransformerConfig', 'MLATransformerConfig']),
);
