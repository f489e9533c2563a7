import { fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, inertKeys, movedRow, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import { megatronCoreKeys, PARALLEL_SIZES } from '../megatron/core-rows';
import { NEMO } from './nemo-repository';

const SOURCE = fileIn(NEMO, 'examples/nlp/language_modeling/conf/megatron_gpt_config.yaml');
const TUNING = fileIn(NEMO, 'examples/nlp/language_modeling/tuning/conf/megatron_gpt_finetuning_config.yaml');
const INERT = 'Setting of NeMo that costs no GPU memory.';
const MODEL = ['model.config'] as const;

/** Data of NeMo 2's configs: of all splits, or of the training one. */
const DATA: readonly Row[] = [
  ['common', 'any', 'Data and their lengths.'],
  ['train_ds', 'any', 'Data and their lengths.'],
  ...['common.', 'train_ds.', ''].flatMap((prefix): readonly Row[] => [
    [`${prefix}micro_batch_size`, 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    [`${prefix}global_batch_size`, 'integer', 'Samples per step over all GPUs.', { sets: 'batch.global' }],
    [`${prefix}max_seq_length`, 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
  ]),
  ['seq_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
];

const KEYS: readonly KeySpec[] = [
  ...block('', SOURCE, [
    ['name', 'string', 'Name of the run.'],
    ['trainer', 'object', 'The Lightning trainer: machines, precision, steps.'],
    ['exp_manager', 'object', 'Logs and checkpoints.'],
    ['model', 'object', 'Architecture, batch, parallelism, data, optimizer.'],
    ['restore_from_path', 'string', 'A `.nemo` file to start from.', { default: null }],
    [
      'data',
      'object',
      'Data and their lengths.',
      { fields: ['batch.sequence', 'batch.micro', 'batch.global'] },
    ],
    [
      'optim',
      'object',
      'Optimizer.',
      { fields: ['optimizer.name', 'optimizer.implementation', 'parallel.distributedOptimizer'] },
    ],
    ['cfg', 'object', 'Saved settings of a model.'],
    ['defaults', 'array', 'Configs that this one starts from.'],
    ['inference', 'any', 'Settings of generation.'],
    ['hydra', 'any', 'Settings of Hydra.'],
  ]),
  ...block('data', SOURCE, DATA),
  ...block('trainer', SOURCE, [
    ['devices', 'any', 'GPUs per machine.', { fields: ['hardware.gpus'] }],
    [
      'num_nodes',
      'integer',
      'Machines.',
      { default: 1, sets: 'hardware.nodes', fields: ['hardware.nodes', 'hardware.gpus'], assumes: SOURCE },
    ],
    [
      'precision',
      'any',
      'Type of products: 32, 16, bf16, `bf16-mixed`.',
      { fields: ['precision.compute', 'precision.scheme', 'precision.weights'] },
    ],
    ['max_steps', 'integer', 'Optimizer steps of the whole run.', { fields: ['schedule.steps'] }],
    [
      'accumulate_grad_batches',
      'integer',
      'Must stay 1: micro batches follow from the global batch.',
      { default: 1 },
    ],
    ['val_check_interval', 'any', 'Steps between validations.', { fields: ['evaluation.enabled'] }],
    ['limit_val_batches', 'any', 'Batches of a validation.', { fields: ['evaluation.enabled'] }],
  ]),
  ...block('model', SOURCE, [
    [
      'precision',
      'any',
      'Type of products.',
      { fields: ['precision.compute', 'precision.scheme', 'precision.weights'] },
    ],
    ['llm', 'object', 'The language model of a speech model.', { fields: ['model.id'] }],
    [
      'mcore_gpt',
      'boolean',
      "Megatron-Core's model instead of NeMo's own.",
      { default: false, fields: ['attention.implementation'] },
    ],
    [
      'transformer_engine',
      'boolean',
      "Transformer Engine's modules instead of NeMo's own.",
      { default: false, fields: ['kernels.transformerEngine', 'attention.implementation'] },
    ],
    [
      'get_attention_mask_from_fusion',
      'boolean',
      'The kernel of the softmax masks, not a mask of the loader.',
      { default: true, fields: ['batch.pairMask'] },
    ],
    ['micro_batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ['global_batch_size', 'integer', 'Samples per step over all GPUs.', { sets: 'batch.global' }],
    [
      'rampup_batch_size',
      'any',
      'Start, increment and samples of a growing global batch.',
      { default: null },
    ],
  ]),
  ...megatronCoreKeys('model', SOURCE, ...PARALLEL_SIZES, 'sequence_parallel'),
  ...block('model', SOURCE, [
    [
      'ub_tp_comm_overlap',
      'boolean',
      "Transfers of tensor parallelism overlap products, in buffers of Transformer Engine's own.",
      { default: false, sets: 'parallel.userBuffers' },
    ],
    ['encoder_seq_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
    ['seq_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
    ['decoder_seq_length', 'integer', 'Tokens of the target.', { sets: 'batch.targetSequence' }],
    ['max_position_embeddings', 'integer', 'Most positions.', { fields: MODEL }],
    ['num_layers', 'integer', 'Transformer layers.', { fields: MODEL }],
    ['hidden_size', 'integer', 'Width of the model.', { fields: MODEL }],
    ['ffn_hidden_size', 'number', 'Width of the MLP (of each branch where it is gated).', { fields: MODEL }],
    ['num_attention_heads', 'integer', 'Attention heads.', { fields: MODEL }],
    [
      'num_query_groups',
      'integer',
      'Key and value heads. Unset: as many as heads.',
      { default: null, fields: MODEL },
    ],
    ['kv_channels', 'integer', 'Size of a head.', { default: null, fields: MODEL }],
    ['normalization', 'string', 'Norm: `layernorm`, `layernorm1p`, `rmsnorm`.', { fields: MODEL }],
    ['bias', 'boolean', 'Linear layers have biases.', { default: true, fields: MODEL }],
    ['qkv_bias', 'boolean', 'The joint projection has a bias.', { default: false, fields: MODEL }],
    ['activation', 'string', 'Activation; those with `glu` are gated.', { default: 'gelu', fields: MODEL }],
    [
      'position_embedding_type',
      'string',
      'Kind of positions.',
      { default: 'learned_absolute', fields: MODEL },
    ],
    ['rotary_percentage', 'number', 'Share of each head that is rotated.', { default: 1, fields: MODEL }],
    [
      'share_embeddings_and_output_weights',
      'boolean',
      'The head is tied to the embedding.',
      { default: true, fields: MODEL },
    ],
    [
      'make_vocab_size_divisible_by',
      'integer',
      'The vocabulary is padded to a multiple of this times the tensor-parallel size.',
      { default: 128, sets: 'parallel.vocabularyMultiple', assumes: SOURCE },
    ],
    ['override_vocab_size', 'integer', 'Entries of the vocabulary.', { default: null, fields: MODEL }],
    ['tokenizer', 'object', 'Tokenizer; its vocabulary gives the rows of the embedding.', { fields: MODEL }],
    ['hidden_dropout', 'number', 'Dropout of the branches.', { fields: MODEL }],
    ['attention_dropout', 'number', 'Dropout of attention.', { fields: MODEL }],
    ['num_moe_experts', 'integer', 'Experts.', { default: null, fields: MODEL }],
    ['moe_router_topk', 'integer', 'Experts that a token takes.', { default: 2, fields: MODEL }],
    [
      'megatron_amp_O2',
      'boolean',
      'Half-precision weights with fp32 masters; otherwise autocast over fp32 weights.',
      { default: false, fields: ['precision.scheme', 'precision.weights'] },
    ],
    [
      'fsdp',
      'boolean',
      "PyTorch's FSDP shards weights, gradients and states over the data-parallel GPUs.",
      { default: false, fields: ['parallel.data'] },
    ],
    [
      'activations_checkpoint_granularity',
      'string',
      'Recompute whole layers or attention only.',
      { values: ['selective', 'full'], default: null, fields: ['activations.checkpointing'] },
    ],
    [
      'activations_checkpoint_method',
      'string',
      '`uniform` segments, or the first layers of a stage (`block`).',
      {
        values: ['uniform', 'block'],
        default: null,
        fields: ['activations.checkpointEvery', 'activations.layers'],
      },
    ],
    [
      'activations_checkpoint_num_layers',
      'integer',
      'Layers of a segment, or per stage.',
      { default: null, fields: ['activations.checkpointEvery', 'activations.layers'] },
    ],
    [
      'use_flash_attention',
      'boolean',
      'Flash attention.',
      { default: false, fields: ['attention.implementation'] },
    ],
    ['fp8', 'boolean', 'fp8 products by Transformer Engine.', { default: false, fields: ['precision.fp8'] }],
    ['optim', 'object', 'Optimizer.', { fields: ['optimizer.name'] }],
    ['peft', 'object', 'Adapters.', { fields: ['method.kind'] }],
    [
      'data',
      'object',
      'Data and their lengths.',
      { fields: ['batch.sequence', 'batch.micro', 'batch.global', 'batch.targetSequence', 'batch.packed'] },
    ],
    ['restore_from_path', 'string', 'A `.nemo` file to start from.', { default: null }],
  ]),
  ...block('model.optim', SOURCE, [
    [
      'name',
      'string',
      '`distributed_fused_adam` shards its states.',
      { fields: ['optimizer.name', 'parallel.distributedOptimizer', 'optimizer.implementation'] },
    ],
    [
      'grad_sync_dtype',
      'string',
      'Type that gradients are reduced in.',
      { default: null, fields: ['precision.gradientAccumulation'] },
    ],
  ]),
  ...block('model.peft', TUNING, [
    ['lora_tuning', 'object', 'LoRA.'],
    ['p_tuning', 'object', 'P-tuning.', { fields: ['lora.virtualTokens'] }],
    [
      'peft_scheme',
      'string',
      'Kind of adapter.',
      {
        values: ['adapter', 'ia3', 'ptuning', 'lora', 'qlora', 'none', 'sdlora'],
        fields: ['method.kind', 'lora.kind', 'quantization.kind'],
      },
    ],
  ]),
  ...block('model.peft.p_tuning', TUNING, [
    ['virtual_tokens', 'integer', 'Trained tokens.', { sets: 'lora.virtualTokens' }],
  ]),
  ...block('model.peft.lora_tuning', TUNING, [
    ['adapter_dim', 'integer', 'Rank.', { default: 32, sets: 'lora.rank', assumes: SOURCE }],
    ['alpha', 'number', 'Scaling.', { sets: 'lora.alpha' }],
    [
      'adapter_dropout',
      'number',
      'Dropout on the input of adapters.',
      { default: 0, sets: 'lora.dropout', assumes: SOURCE },
    ],
    ['target_modules', 'array', 'Modules that get adapters.', { fields: ['lora.targets'] }],
  ]),
  ...block('model.data', SOURCE, [
    ['train_ds', 'any', 'Data and their lengths.'],
    ['seq_length', 'integer', 'Tokens per sample.', { fields: ['batch.sequence'] }],
    ['max_seq_length', 'integer', 'Tokens of the longest sample.', { fields: ['batch.sequence'] }],
    ['train_ds.seq_length', 'integer', 'Tokens per sample.', { fields: ['batch.sequence'] }],
    ['train_ds.max_seq_length', 'integer', 'Tokens of the longest sample.', { fields: ['batch.sequence'] }],
    ['seq_length_dec', 'integer', 'Tokens of the target.', { sets: 'batch.targetSequence' }],
    ['train_ds.max_src_seq_length', 'integer', 'Tokens per sample.', { fields: ['batch.sequence'] }],
    ['train_ds.max_tgt_seq_length', 'integer', 'Tokens of the target.', { sets: 'batch.targetSequence' }],
    [
      'train_ds.micro_batch_size',
      'integer',
      'Samples per GPU and forward pass.',
      { fields: ['batch.micro'] },
    ],
    [
      'train_ds.global_batch_size',
      'integer',
      'Samples per step over all GPUs.',
      { fields: ['batch.global'] },
    ],
    [
      'train_ds.packed_sequence',
      'boolean',
      'Samples are packed into rows.',
      { default: false, sets: 'batch.packed' },
    ],
  ]),
  ...inertKeys('model', SOURCE, INERT, {
    any: `seed init_method_std nsys_profile resume_from_checkpoint hysteresis apply_rope_fusion bias_activation_fusion
      masked_softmax_fusion batch_p2p_comm sync_batch_comm fp8_hybrid fp8_margin fp8_amax_history_len fp8_amax_compute_algo
      normalize_attention_scores attention_type validation_global_batch_size persist_layer_norm layernorm_zero_centered_gamma
      validation_micro_batch_size`,
  }),
  ...inertKeys('model.data', SOURCE, INERT, {
    any: 'no_seqlen_plus_one_input_tokens pad_samples_to_global_batch_size short_seq_prob min_seq_length get_attention_mask_from_fusion',
  }),
  ...inertKeys('data', SOURCE, INERT, { any: 'common.min_seq_length train_ds.min_seq_length' }),
  ...inertKeys('trainer', SOURCE, INERT, {
    any: 'limit_train_batches limit_test_batches enable_checkpointing sync_batchnorm',
  }),
];

/** Keys of NeMo 1's Megatron configs; saved settings have those of `model` under `cfg`. */
export const NEMO_KEYS: readonly KeySpec[] = [
  ...KEYS,
  ...KEYS.filter(({ path }) => path.startsWith('model.')).map((row) =>
    movedRow(row.path.replace(/^model/, 'cfg'), row),
  ),
];

export const NEMO_TABLE = new KeyTable(NEMO_KEYS, 'NeMo');
