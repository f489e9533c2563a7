import type { KeySpec } from '../dialect';
import { block, silent } from '../key-rows';

const V1 = 'https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/v1/';
const SILENT = 'Setting of LLaMA-Factory that costs no GPU memory.';

/** Keys of LLaMA-Factory's v1 (`config/*.py` and the plugins that its blocks name). */
export const LLAMA_FACTORY_V1_KEYS: readonly KeySpec[] = [
  ...block('', `${V1}config/model_args.py`, [
    [
      'model',
      'string',
      'Model on the Hugging Face Hub, or a folder that holds it.',
      { fields: ['model.id'] },
    ],
    [
      'flash_attn',
      'string',
      'Attention kernel.',
      {
        values: ['eager', 'sdpa', 'flash_attention_2'],
        default: 'sdpa',
        fields: ['attention.implementation'],
      },
    ],
    [
      'peft_config',
      'object',
      'What is trained: `name: lora` or `freeze`; without it all weights are.',
      { default: null, fields: ['method.kind'] },
    ],
    ['quant_config', 'object', 'Quantization of the base.', { default: null, fields: ['quantization.kind'] }],
    ['kernel_config', 'object', 'Fused kernels.', { default: null, fields: ['kernels.liger'] }],
    ['init_config', 'object', 'Where the model is made.', { default: null }],
  ]),
  ...block('', `${V1}config/training_args.py`, [
    [
      'micro_batch_size',
      'integer',
      'Samples per GPU and forward pass.',
      { default: 1, fields: ['batch.micro'] },
    ],
    [
      'global_batch_size',
      'integer',
      'Samples per optimizer step over all GPUs; unset, one micro batch on each.',
      { default: null, fields: ['batch.global', 'batch.accumulation'] },
    ],
    [
      'cutoff_len',
      'integer',
      'Tokens per sample; longer ones are cut.',
      { default: 2048, fields: ['batch.sequence'] },
    ],
    [
      'batching_strategy',
      'string',
      'Pad the samples of a batch, or join them into one row.',
      {
        values: ['normal', 'padding_free', 'dynamic_batching', 'dynamic_padding_free'],
        default: 'normal',
        fields: ['batch.packed'],
      },
    ],
    [
      'max_steps',
      'integer',
      'Optimizer steps of the whole run.',
      { default: null, fields: ['schedule.steps'] },
    ],
    [
      'bf16',
      'boolean',
      'FSDP 2 gathers weights and multiplies in bf16; they are fp32 in between.',
      { default: true, fields: ['precision.compute', 'precision.scheme'] },
    ],
    [
      'enable_activation_checkpointing',
      'boolean',
      'Keep the input of each layer only, and compute the rest again in backward.',
      { default: true, fields: ['activations.checkpointing'] },
    ],
    ['dist_config', 'object', 'Who shards the model.', { default: null, fields: ['parallel.data'] }],
    [
      'optim_config',
      'object',
      'Optimizer; unset, AdamW of PyTorch.',
      { default: null, fields: ['optimizer.name'] },
    ],
    [
      'cp_size',
      'integer',
      'Context-parallel size.',
      { default: 1, fields: ['parallel.ulysses', 'parallel.context'] },
    ],
    ['cp_mode', 'string', 'How attention is split over them.', { default: 'ulysses' }],
  ]),
  ...block('peft_config', `${V1}plugins/model_plugins/peft.py`, [
    ['name', 'string', 'LoRA, or some layers only.', { values: ['lora', 'freeze'], fields: ['method.kind'] }],
    ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, fields: ['lora.rank'] }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 16, fields: ['lora.alpha'] },
    ],
    ['lora_dropout', 'number', 'Dropout on the adapter input.', { default: 0.05, fields: ['lora.dropout'] }],
    ['target_modules', 'any', 'Modules that get an adapter.', { default: 'all', fields: ['lora.targets'] }],
    ['modules_to_save', 'any', 'Modules trained in full.', { default: null, fields: ['lora.modulesToSave'] }],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, fields: ['lora.dora'] }],
    [
      'freeze_trainable_layers',
      'integer',
      'Last layers that are trained; negative: first ones.',
      { default: 2, fields: ['method.trainableLayers'] },
    ],
  ]),
  ...silent('peft_config', `${V1}plugins/model_plugins/peft.py`, SILENT, {
    any: `use_rslora adapter_name_or_path export_dir export_size export_hub_model_id infer_dtype export_legacy_format
      freeze_trainable_modules freeze_extra_modules cast_trainable_params_to_fp32`,
  }),
  ...block('quant_config', `${V1}plugins/model_plugins/quantization.py`, [
    ['name', 'string', 'bitsandbytes, or chosen by itself.', { values: ['auto', 'bnb'] }],
    ['quantization_bit', 'integer', 'Bits per weight.', { values: [4, 8], fields: ['quantization.kind'] }],
    [
      'quantization_type',
      'string',
      'Type of 4-bit weights.',
      { default: 'nf4', fields: ['quantization.kind'] },
    ],
    [
      'double_quantization',
      'boolean',
      'Quantize block scales once more.',
      { default: true, fields: ['quantization.double'] },
    ],
    [
      'compute_dtype',
      'string',
      'Type of products, and the one that packed weights are stored as.',
      { default: 'float16', fields: ['quantization.storage'] },
    ],
  ]),
  ...block('kernel_config', `${V1}plugins/model_plugins/kernels`, [
    ['name', 'string', 'Kernels by name; `auto` takes what the device has.', { fields: ['kernels.liger'] }],
    ['include_kernels', 'any', 'Kernels that are taken.', { default: null }],
    ['chunk_size', 'integer', 'Chunk of a kernel.', { default: null }],
  ]),
  ...block('dist_config', `${V1}plugins/trainer_plugins/distributed/fsdp2.py`, [
    ['name', 'string', 'FSDP 2, DeepSpeed, or FSDP with expert parallelism.', { fields: ['parallel.data'] }],
    ['config_file', 'string', 'DeepSpeed config.', { default: null, fields: ['zero.stage'] }],
    [
      'reshard_after_forward',
      'boolean',
      'Free gathered weights after forward.',
      { default: true, fields: ['fsdp.strategy'] },
    ],
    [
      'offload_params',
      'boolean',
      'Shards, gradients and states in host memory.',
      { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    ['pin_memory', 'boolean', 'Page-locked host memory.', { default: true, fields: ['offload.pinMemory'] }],
    ['ep_size', 'integer', 'Expert-parallel size.', { default: 1, fields: ['parallel.expert'] }],
    ['ep_dispatcher', 'string', 'How tokens reach their experts.', { default: null }],
    ['dcp_path', 'string', 'Checkpoint to load shard by shard.', { default: null }],
  ]),
  ...block('optim_config', `${V1}plugins/trainer_plugins/optimizer.py`, [
    ['name', 'string', 'Optimizer by its name.', { fields: ['optimizer.name'] }],
  ]),
  ...silent('', `${V1}config`, SILENT, {
    any: 'train_dataset eval_dataset lr_scheduler_config',
    string: 'template model_class output_dir resume_from_checkpoint sample_backend',
    integer:
      'num_train_epochs batching_workers seed save_steps save_total_limit logging_steps max_new_tokens',
    number: 'learning_rate max_grad_norm save_epochs beta',
    boolean: 'trust_remote_code full_determinism save_ckpt_as_hf',
  }),
];
