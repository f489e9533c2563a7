import { textOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import { AUTOMODEL } from './nemo-repository';

const SOURCE = fileIn(AUTOMODEL, 'nemo_automodel/components/distributed/config.py');
const QUANTIZATION = fileIn(AUTOMODEL, 'nemo_automodel/components/quantization/qlora.py');
const SCHEDULER = fileIn(AUTOMODEL, 'nemo_automodel/components/training/step_scheduler.py');
const LORA = fileIn(AUTOMODEL, 'nemo_automodel/components/_peft/lora.py');

/** Tokens of a sample, by the names that data sets of several kinds give them. */
const lengths = (...names: readonly string[]): readonly Row[] =>
  names.map((name): Row => [name, 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }]);

/** Keys of the tokens of a sample, the one that counts first. */
export const LENGTH_KEYS: readonly string[] = [
  ...['seq_length', 'seq_len', 'max_length', 'max_seq_length', 'max_seq_len', 'block_size'].map(
    (name) => `dataset.${name}`,
  ),
  'dataloader.collate_fn.max_length',
  'packed_sequence.max_length',
  'recipe_args.max_seq_len',
  'recipe_args.seq_length',
];

/** Keys of the machines: no key of the training itself states them. */
export const MACHINES_KEYS: readonly string[] = ['benchmark.num_nodes', 'ci.nodes'];

/** Keys of NeMo Automodel. */
export const AUTOMODEL_KEYS: readonly KeySpec[] = [
  ...block('', SCHEDULER, [
    ['step_scheduler', 'object', 'Batch and steps.'],
    [
      'model',
      'object',
      'The model, by a class and its arguments.',
      { fields: ['model.id', 'model.config', 'attention.implementation', 'precision.weights'] },
    ],
    ['distributed', 'object', 'How GPUs share the work.', { fields: ['parallel.data'] }],
    ['peft', 'object', 'Adapters.', { fields: ['method.kind', 'lora.dtype'] }],
    [
      'optimizer',
      'object',
      'Optimizer, by class.',
      { fields: ['optimizer.name', 'optimizer.implementation', 'optimizer.extraStates'], byClass: true },
    ],
    ['dataset', 'object', 'Data.', { fields: ['batch.sequence'] }],
    [
      'recipe_args',
      'object',
      'Arguments of a recipe of its own.',
      { fields: ['batch.micro', 'batch.sequence'] },
    ],
    ['benchmark', 'object', 'A benchmark, and its machines.', { fields: ['hardware.nodes'] }],
    ['ci', 'object', 'How the repository tests the file.', { fields: ['hardware.nodes'] }],
    ['dataloader', 'object', 'How samples are put together.', { fields: ['batch.sequence'] }],
    [
      'validation_dataloader',
      'object',
      'How samples of the validation are.',
      { fields: ['evaluation.enabled'], byClass: true },
    ],
    ['packed_sequence', 'object', 'Packing.'],
    ['loss_fn', 'object', 'Loss.', { fields: ['loss.implementation'], byClass: true }],
    [
      'quantization',
      'object',
      'Quantized base weights.',
      { fields: ['quantization.kind', 'quantization.double'] },
    ],
    ['compile', 'object', 'torch.compile.', { fields: ['kernels.compile'] }],
    ['fp8', 'object', 'fp8 products.', { fields: ['precision.fp8'] }],
    [
      'validation_dataset',
      'any',
      'Data of the validation.',
      { fields: ['evaluation.enabled'], byClass: true },
    ],
    [
      'parallelizer',
      'object',
      'Plan for models with experts, by class; recipes of 2026 read `distributed` alone.',
      { fields: ['activations.checkpointing'], byClass: true },
    ],
    ['qat', 'object', 'Quantization-aware training.', { brings: 'fake-quantization' }],
    ['freeze_config', 'object', 'Parts of a model that sees or hears which are not trained.'],
  ]),
  ...inertKeys('', SCHEDULER, 'Block of Automodel that costs no GPU memory.', {
    any: 'recipe kd_loss_fn seed dist_env rng checkpoint lr_scheduler wandb mlflow processor logger tokenizer',
  }),
  ...block('step_scheduler', SCHEDULER, [
    ['local_batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ['global_batch_size', 'integer', 'Samples per step over all GPUs.', { sets: 'batch.global' }],
    ['max_steps', 'integer', 'Optimizer steps of the whole run.', { default: null, sets: 'schedule.steps' }],
    ['num_epochs', 'integer', 'Passes over the data.', { default: null }],
    ['ckpt_every_steps', 'integer', 'Steps between checkpoints.', { default: null }],
    ['val_every_steps', 'integer', 'Steps between validations.', { default: null }],
    ['gc_every_steps', 'integer', 'Steps between collections of garbage.', { default: null }],
  ]),
  ...block('model', SOURCE, [
    ['pretrained_model_name_or_path', 'string', 'Model on the Hub.', { fields: ['model.id'] }],
    ['torch_dtype', 'string', 'Type of the weights.', { default: 'auto', fields: ['precision.weights'] }],
    [
      'attn_implementation',
      'string',
      'Attention kernel.',
      { default: null, fields: ['attention.implementation'] },
    ],
    [
      'num_nextn_predict_layers',
      'integer',
      'Layers that predict further tokens.',
      { fields: ['features.unmodelled'] },
    ],
    [
      'use_liger_kernel',
      'boolean',
      'Liger kernels where they are installed, in classes of transformers, without tensor or context parallelism.',
      { default: true, sets: 'kernels.liger' },
    ],
  ]),
  ...block('distributed', SOURCE, [
    [
      'strategy',
      'string',
      'FSDP 2, Megatron-FSDP or replicas.',
      { values: ['fsdp2', 'megatron_fsdp', 'ddp'], default: 'fsdp2', fields: ['parallel.data'] },
    ],
    [
      'dp_size',
      'any',
      'Data-parallel size; none: what is left.',
      { default: null, fields: ['hardware.gpus'] },
    ],
    [
      'dp_replicate_size',
      'any',
      'Replicas of hybrid sharding.',
      { default: null, sets: 'parallel.replicate' },
    ],
    ['tp_size', 'any', 'Tensor-parallel size.', { default: 1, sets: 'parallel.tensor', assumes: SOURCE }],
    ['pp_size', 'any', 'Pipeline-parallel size.', { default: 1, sets: 'parallel.pipeline', assumes: SOURCE }],
    ['cp_size', 'any', 'Context-parallel size.', { default: 1, sets: 'parallel.context', assumes: SOURCE }],
    ['ep_size', 'any', 'Expert-parallel size.', { default: 1, sets: 'parallel.expert', assumes: SOURCE }],
    [
      'sequence_parallel',
      'boolean',
      'Norms work on a part of the sequence.',
      { default: false, sets: 'parallel.sequence', assumes: SOURCE },
    ],
    [
      'defer_fsdp_grad_sync',
      'boolean',
      'Gradients are reduced with the last micro batch alone; those before stay whole.',
      { default: true, sets: 'fsdp.syncEachBatch', spellings: { true: false, false: true } },
    ],
    [
      'reshard_after_forward',
      'boolean',
      'Weights of a layer are freed after its forward pass; null: but under a pipeline.',
      { default: null, fields: ['fsdp.strategy'] },
    ],
    ['moe', 'object', 'How models with experts are sharded, where experts are spread over GPUs.'],
    [
      'activation_checkpointing',
      'any',
      'Recompute layers: true, `full` or `selective`.',
      { default: false, fields: ['activations.checkpointing'] },
    ],
    [
      'pipeline',
      'object',
      'Pipeline schedule and its micro batches.',
      { fields: ['parallel.pipelineSchedule', 'batch.micro'] },
    ],
    [
      'offload_policy',
      'any',
      'Weights and states in host memory.',
      { default: null, fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    [
      'mp_policy',
      'any',
      'Types of FSDP 2.',
      { default: null, fields: ['precision.compute', 'precision.reduce'] },
    ],
  ]),
  ...block('distributed.moe', SOURCE, [
    [
      'reshard_after_forward',
      'boolean',
      'Weights of a layer are freed after its forward pass.',
      { default: false, fields: ['fsdp.strategy'] },
    ],
  ]),
  ...block('parallelizer', SOURCE, [
    [
      'reshard_after_forward',
      'boolean',
      'Weights of a layer are freed after its forward pass.',
      { default: false, fields: ['fsdp.strategy'] },
    ],
    ['activation_checkpointing', 'boolean', 'Recompute layers in backward.', { default: false }],
  ]),
  ...inertKeys('distributed.moe', SOURCE, 'Setting of Automodel that costs no GPU memory.', {
    any: 'ignore_router_for_ac wrap_outer_model lm_head_precision',
  }),
  ...inertKeys('distributed.pipeline', SOURCE, 'Setting of Automodel that costs no GPU memory.', {
    any: 'round_virtual_stages_to_pp_multiple dtype',
  }),
  ...inertKeys('ci', SCHEDULER, 'Setting of Automodel that costs no GPU memory.', {
    any: 'checkpoint_robustness',
  }),
  ...block('distributed.pipeline', SOURCE, [
    ['pp_microbatch_size', 'integer', 'Samples of a micro batch of the pipeline.', { sets: 'batch.micro' }],
  ]),
  ...block('compile', SOURCE, [
    ['enabled', 'boolean', 'torch.compile.', { default: false, sets: 'kernels.compile' }],
  ]),
  ...block('benchmark', SCHEDULER, [['num_nodes', 'integer', 'Machines.', { sets: 'hardware.nodes' }]]),
  ...block('ci', SCHEDULER, [['nodes', 'integer', 'Machines.', { sets: 'hardware.nodes' }]]),
  ...block('recipe_args', SCHEDULER, [
    ['micro_batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ...lengths('max_seq_len', 'seq_length'),
  ]),
  ...block(
    'dataset',
    SCHEDULER,
    lengths('seq_length', 'seq_len', 'max_length', 'max_seq_length', 'max_seq_len', 'block_size'),
  ),
  ...block('dataloader', SCHEDULER, [['collate_fn', 'any', 'How samples are put together.']]),
  ...block('dataloader.collate_fn', SCHEDULER, [
    ...lengths('max_length'),
    [
      'pad_seq_len_divisible',
      'integer',
      'Rows are padded to a multiple of so many tokens.',
      { default: null },
    ],
  ]),
  ...block('quantization', SOURCE, [
    [
      'bnb_4bit_use_double_quant',
      'boolean',
      'Quantize the block scales once more.',
      { default: true, sets: 'quantization.double', assumes: QUANTIZATION },
    ],
    [
      'bnb_4bit_quant_storage',
      'string',
      'Type that packed weights are stored as.',
      {
        default: 'bfloat16',
        sets: 'quantization.storage',
        means: (node) => weightsDtypeOf(textOf(node)?.replace(/^torch\./, '')),
        assumes: QUANTIZATION,
      },
    ],
  ]),
  ...block('peft', LORA, [
    ['dim', 'integer', 'Rank.', { default: 8, sets: 'lora.rank', assumes: LORA }],
    ['alpha', 'number', 'Scaling.', { default: 32, sets: 'lora.alpha', assumes: LORA }],
    [
      'dropout',
      'number',
      'Dropout on the input of adapters.',
      { default: 0, sets: 'lora.dropout', assumes: LORA },
    ],
    [
      'match_all_linear',
      'boolean',
      'Every linear layer gets an adapter.',
      { default: false, fields: ['lora.targets'] },
    ],
    [
      'target_modules',
      'any',
      'Modules that get adapters.',
      { fields: ['lora.targets', 'lora.targetPattern'] },
    ],
    ['exclude_modules', 'any', 'Modules that get none.', { fields: ['lora.targets', 'lora.exclude'] }],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, sets: 'lora.dora' }],
  ]),
  ...block('packed_sequence', SCHEDULER, [
    [
      'packed_sequence_size',
      'integer',
      'Tokens of a packed row; 0: no packing.',
      { default: 0, fields: ['batch.packed', 'batch.sequence'] },
    ],
    [
      'pack_size',
      'integer',
      'Tokens of a packed row of text and images; 0: no packing.',
      { default: 0, fields: ['batch.packed', 'batch.sequence'] },
    ],
    ...lengths('max_length'),
    ['attn_implementation', 'string', 'Kernel that the mask of packed rows is made for.', { default: null }],
    ['drop_long_samples', 'boolean', 'Samples longer than a row are left out.', { default: false }],
    ['packing_ratio', 'number', 'Share of a row that is filled.', { default: 1 }],
    ['pretokenize', 'boolean', 'Samples are tokenized before they are packed.'],
    ['collate_max_length', 'integer', 'Longest row that is put together.', { default: null }],
  ]),
  ...inertKeys('packed_sequence', SCHEDULER, 'Setting of Automodel that costs no GPU memory.', {
    any: 'max_packs balance_media_tokens post_tokenize_hook_fn packing_format packing_strategy split_across_pack num_proc',
  }),
];

export const AUTOMODEL_TABLE = new KeyTable(AUTOMODEL_KEYS, 'Automodel');
