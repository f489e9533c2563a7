import type { KeySpec } from '../dialect';
import { block, silent } from '../key-rows';

const SOURCE =
  'https://github.com/NVIDIA-NeMo/Automodel/blob/main/nemo_automodel/components/distributed/config.py';
const SCHEDULER =
  'https://github.com/NVIDIA-NeMo/Automodel/blob/main/nemo_automodel/components/training/step_scheduler.py';
const LORA = 'https://github.com/NVIDIA-NeMo/Automodel/blob/main/nemo_automodel/components/_peft/lora.py';

/** Keys of NeMo Automodel. */
export const AUTOMODEL_KEYS: readonly KeySpec[] = [
  ...block('', SCHEDULER, [
    ['step_scheduler', 'object', 'Batch and steps.'],
    [
      'model',
      'object',
      'The model, by a class and its arguments.',
      { fields: ['model.id', 'attention.implementation', 'precision.weights'] },
    ],
    ['distributed', 'object', 'How GPUs share the work.', { fields: ['parallel.data'] }],
    ['peft', 'object', 'Adapters.', { fields: ['method.kind', 'lora.dtype'] }],
    [
      'optimizer',
      'object',
      'Optimizer, by class.',
      { fields: ['optimizer.name', 'optimizer.implementation', 'optimizer.extraStates'] },
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
      { fields: ['evaluation.enabled'] },
    ],
    ['packed_sequence', 'object', 'Packing.'],
    ['loss_fn', 'object', 'Loss.', { fields: ['loss.implementation'] }],
    [
      'quantization',
      'object',
      'Quantized base weights.',
      { fields: ['quantization.kind', 'quantization.double'] },
    ],
    ['compile', 'object', 'torch.compile.', { fields: ['kernels.compile'] }],
    ['fp8', 'object', 'fp8 products.', { fields: ['precision.fp8'] }],
    ['validation_dataset', 'any', 'Data of the validation.', { fields: ['evaluation.enabled'] }],
  ]),
  ...silent('', SCHEDULER, 'Block of Automodel that costs no GPU memory.', {
    any: 'recipe kd_loss_fn seed dist_env rng checkpoint lr_scheduler wandb mlflow processor parallelizer freeze_config logger tokenizer qat',
  }),
  ...block('step_scheduler', SCHEDULER, [
    ['local_batch_size', 'integer', 'Samples per GPU and forward pass.', { fields: ['batch.micro'] }],
    ['global_batch_size', 'integer', 'Samples per step over all GPUs.', { fields: ['batch.global'] }],
    [
      'max_steps',
      'integer',
      'Optimizer steps of the whole run.',
      { default: null, fields: ['schedule.steps'] },
    ],
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
      'use_liger_kernel',
      'boolean',
      'Liger kernels where they are installed.',
      { default: true, fields: ['kernels.liger'] },
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
      { default: null, fields: ['parallel.replicate'] },
    ],
    ['tp_size', 'any', 'Tensor-parallel size.', { default: 1, fields: ['parallel.tensor'] }],
    ['pp_size', 'any', 'Pipeline-parallel size.', { default: 1, fields: ['parallel.pipeline'] }],
    ['cp_size', 'any', 'Context-parallel size.', { default: 1, fields: ['parallel.context'] }],
    ['ep_size', 'any', 'Expert-parallel size.', { default: 1, fields: ['parallel.expert'] }],
    [
      'sequence_parallel',
      'boolean',
      'Norms work on a part of the sequence.',
      { default: false, fields: ['parallel.sequence'] },
    ],
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
  ...block('peft', LORA, [
    ['dim', 'integer', 'Rank.', { default: 8, fields: ['lora.rank'] }],
    ['alpha', 'number', 'Scaling.', { default: 32, fields: ['lora.alpha'] }],
    ['dropout', 'number', 'Dropout on the input of adapters.', { default: 0, fields: ['lora.dropout'] }],
    [
      'match_all_linear',
      'boolean',
      'Every linear layer gets an adapter.',
      { default: false, fields: ['lora.targets'] },
    ],
    ['target_modules', 'any', 'Modules that get adapters.', { fields: ['lora.targets'] }],
    ['exclude_modules', 'any', 'Modules that get none.', { fields: ['lora.exclude'] }],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, fields: ['lora.dora'] }],
  ]),
  ...block('packed_sequence', SCHEDULER, [
    [
      'packed_sequence_size',
      'integer',
      'Tokens of a packed row; 0: no packing.',
      { default: 0, fields: ['batch.packed', 'batch.sequence'] },
    ],
  ]),
];
