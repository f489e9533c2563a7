import type { KeySpec } from '../dialect';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';

const DOCS = 'https://docs.pytorch.org/torchtune/stable/deep_dives/configs.html';
const MEMORY = 'https://docs.pytorch.org/torchtune/stable/tutorials/memory_optimizations.html';

/** Keys of torchtune's recipes. */
export const TORCHTUNE_KEYS: readonly KeySpec[] = [
  ...block('', DOCS, [
    ['batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    [
      'batch_size_val',
      'integer',
      'Samples per GPU of a validation batch; unset, as in training.',
      { default: null, sets: 'evaluation.batch' },
    ],
    [
      'gradient_accumulation_steps',
      'integer',
      'Forward and backward passes per optimizer step.',
      { default: 1, sets: 'batch.accumulation', assumes: true },
    ],
    [
      'dtype',
      'string',
      'Type of weights, gradients and optimizer states alike: there is no copy in fp32.',
      {
        values: ['bf16', 'fp32', 'fp16'],
        fields: ['precision.weights', 'lora.dtype', 'precision.compute', 'precision.scheme'],
      },
    ],
    ['device', 'string', 'Where the run happens.'],
    [
      'compile',
      'any',
      'Compile model, loss or optimizer step.',
      { default: false, fields: ['kernels.compile'] },
    ],
    [
      'enable_fp8_training',
      'boolean',
      'fp8 training (torchao).',
      { default: false, sets: 'precision.fp8', spellings: { torchao: true, none: false } },
    ],
    [
      'max_steps_per_epoch',
      'integer',
      'Optimizer steps per epoch.',
      { default: null, fields: ['schedule.steps'] },
    ],
    ['epochs', 'integer', 'Passes over the data.'],
    [
      'optimizer',
      'object',
      'Optimizer and its arguments.',
      { fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
    ['model', 'object', 'Model builder and its arguments.', { fields: ['model.id', 'quantization.kind'] }],
    ['tokenizer', 'object', 'Tokenizer and its arguments.'],
    ['dataset', 'any', 'Data set builder and its arguments.'],
    ['dataset_val', 'any', 'Data set of the validation.', { fields: ['evaluation.enabled'] }],
    ['checkpointer', 'object', 'Checkpointer and its arguments.'],
    [
      'ref_checkpointer',
      'object',
      'Checkpointer of the reference model.',
      { fields: ['method.referenceModel'] },
    ],
    ['ref_model', 'object', 'Reference model.'],
    [
      'teacher_model',
      'object',
      'Teacher of the distillation.',
      { fields: ['method.objective', 'method.teacher', 'method.frozenParameters'] },
    ],
    [
      'kd_loss',
      'object',
      'Divergence from the teacher: forward, reverse or symmetric, of all logits or of chunks of them.',
      { fields: ['loss.divergence'] },
    ],
    [
      'loss',
      'object',
      'Loss. `LinearCrossEntropyLoss` works on chunks of the head, so that the logits are never whole.',
      { fields: ['loss.implementation', 'method.objective'] },
    ],
  ]),
  ...block('', MEMORY, [
    [
      'enable_activation_checkpointing',
      'boolean',
      'Keep the input of each layer only, and compute the rest again in backward.',
      {
        default: false,
        sets: 'activations.checkpointing',
        spellings: { full: true, none: false },
        assumes: true,
      },
    ],
    [
      'enable_activation_offloading',
      'boolean',
      'Move what backward needs to host memory until then.',
      { default: false, sets: 'activations.offload', assumes: true },
    ],
    [
      'ac_mode',
      'string',
      'Checkpoint every layer (`full`) or some (`selective`).',
      { default: null, fields: ['activations.checkpointing'] },
    ],
    [
      'ac_option',
      'any',
      'For `selective`: every n-th layer, or `op`.',
      { default: null, fields: ['activations.checkpointEvery'] },
    ],
    [
      'optimizer_in_bwd',
      'boolean',
      'Step each weight as soon as its gradient is there: gradients never live together.',
      { default: false, sets: 'optimizer.inBackward' },
    ],
    ['data_parallel_shard_dim', 'integer', 'GPUs that a shard group spans; -1: all.', { default: -1 }],
    [
      'data_parallel_replicate_dim',
      'integer',
      'Replicas of the sharded model.',
      { default: 1, sets: 'parallel.replicate', assumes: true },
    ],
    [
      'tensor_parallel_dim',
      'integer',
      'Tensor-parallel size.',
      { default: 1, sets: 'parallel.tensor', assumes: true },
    ],
    [
      'context_parallel_dim',
      'integer',
      'Context-parallel size.',
      { default: 1, sets: 'parallel.context', assumes: true },
    ],
    ['tensor_parallel_plan', 'object', 'How tensor parallelism splits the model.'],
    [
      'fsdp_cpu_offload',
      'boolean',
      'Shards, gradients and states in host memory.',
      { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    [
      'fsdp_reshard_after_forward',
      'boolean',
      'Free gathered weights after forward.',
      { default: true, sets: 'fsdp.strategy', spellings: { full: true, 'grad-op': false }, assumes: true },
    ],
    [
      'custom_sharded_layers',
      'any',
      'Further modules that are sharded on their own.',
      { default: null, fields: ['fsdp.separateEnds'] },
    ],
    [
      'memory_efficient_fsdp_wrap',
      'boolean',
      'Embedding and output are wrapped on their own (old versions).',
      { default: false, fields: ['fsdp.separateEnds'] },
    ],
    [
      'activation_offloading_use_streams',
      'boolean',
      'Overlap offloading with the computation.',
      { default: true },
    ],
  ]),
  ...block('model', DOCS, [
    [
      '_component_',
      'string',
      'Builder of the model: its name says the architecture.',
      { fields: ['model.id', 'method.kind', 'quantization.kind'] },
    ],
    [
      'lora_attn_modules',
      'array',
      'Attention projections that get an adapter.',
      { fields: ['lora.targets'] },
    ],
    ['apply_lora_to_mlp', 'boolean', 'Adapt the MLP too.', { default: false, fields: ['lora.targets'] }],
    [
      'apply_lora_to_output',
      'boolean',
      'Adapt the output projection too.',
      { default: false, fields: ['lora.targets'] },
    ],
    ['lora_rank', 'integer', 'Rank of the LoRA matrices.', { default: 8, sets: 'lora.rank', assumes: true }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 16, sets: 'lora.alpha', assumes: true },
    ],
    [
      'lora_dropout',
      'number',
      'Dropout on the adapter input.',
      { default: 0, sets: 'lora.dropout', assumes: true },
    ],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, sets: 'lora.dora', assumes: true }],
    [
      'quantize_base',
      'boolean',
      'Quantize the frozen base weights to NF4.',
      { default: false, fields: ['quantization.kind'] },
    ],
  ]),
  ...block('teacher_model', DOCS, [
    ['_component_', 'string', 'Builder of the teacher.', { fields: ['method.objective'] }],
  ]),
  ...block('tokenizer', DOCS, [
    [
      'max_seq_len',
      'integer',
      'Tokens per sample; longer ones are cut. `null` cuts nothing.',
      { default: null, sets: 'batch.sequence' },
    ],
  ]),
  ...block('dataset', DOCS, [
    // `torchtune/datasets/_alpaca.py` up to 0.2.1.
    [
      'max_seq_len',
      'integer',
      'Tokens per sample of older releases; longer ones are cut.',
      { default: null, sets: 'batch.sequence' },
    ],
    [
      'packed',
      'boolean',
      'Join samples into full rows.',
      { default: false, sets: 'batch.packed', assumes: true },
    ],
  ]),
  ...block('optimizer', DOCS, [
    [
      '_component_',
      'string',
      'Class of the optimizer.',
      { fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
    [
      'fused',
      'boolean',
      'Fused step: needs no temporary copy of the weights.',
      { default: null, fields: ['optimizer.implementation'] },
    ],
  ]),
  ...block('loss', DOCS, [
    ['_component_', 'string', 'Class of the loss.', { fields: ['loss.implementation', 'method.objective'] }],
  ]),
  ...inertKeys('', DOCS, 'Setting of torchtune that costs no GPU memory.', {
    any: `datasets dataloader lr_scheduler metric_logger profiler quantizer teacher_checkpointer reward_and_value_model policy reward_model
      value_model generation_kwargs tune_env model_type prompt tasks instruct_template chat_format orchestration
      inference postprocessing reward_functions`,
    string: 'output_dir log_level recipe run_name name base_model_path model_dir',
    integer:
      'seed log_every_n_steps run_val_every_n_steps num_warmup_steps save_every_n_steps num_output_chunks',
    number: 'clip_grad_norm kd_ratio',
    boolean: `shuffle resume_from_checkpoint save_adapter_weights_only log_peak_memory_stats
      enable_async_checkpointing log_peak_memory_every_n_steps keep_last_n_checkpoints
      skip_max_seq_len_samples`,
  }),
];

export const TORCHTUNE_TABLE = new KeyTable(TORCHTUNE_KEYS, 'torchtune');
