import type { ConfigNode } from '../../config/node';
import { flagOf, textOf, textsOf } from '../../config/scalar';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { attentionOf } from '../hf/attention';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';

const V1 = fileIn(LLAMA_FACTORY, 'src/llamafactory/v1/');
const TRAINING = `${V1}config/training_args.py`;
const PEFT = `${V1}plugins/model_plugins/peft.py`;
const QUANTIZATION = `${V1}plugins/model_plugins/quantization.py`;
const INERT = 'Setting of LLaMA-Factory that costs no GPU memory.';

const bf16Or32 = (node: ConfigNode) => {
  const low = flagOf(node);
  return low === undefined ? undefined : low ? 'bf16' : 'fp32';
};

const targetsOf = (node: ConfigNode) =>
  textsOf(node)?.map((target) => (target === 'all' ? 'all-linear' : target));

/** Keys of LLaMA-Factory's v1 (`config/*.py` and the plugins that its blocks name). */
export const LLAMA_FACTORY_V1_KEYS: readonly KeySpec[] = [
  ...block('', `${V1}config/model_args.py`, [
    ['model', 'string', 'Model on the Hugging Face Hub, or a folder that holds it.', { sets: 'model.id' }],
    [
      'flash_attn',
      'string',
      'Attention kernel.',
      {
        values: ['eager', 'sdpa', 'flash_attention_2'],
        default: 'sdpa',
        sets: 'attention.implementation',
        means: (node) => attentionOf(textOf(node)),
        assumes: `${V1}config/model_args.py`,
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
  ...block('', TRAINING, [
    [
      'micro_batch_size',
      'integer',
      'Samples per GPU and forward pass.',
      { default: 1, sets: 'batch.micro', assumes: TRAINING },
    ],
    [
      'global_batch_size',
      'integer',
      'Samples per optimizer step over all GPUs; unset, one micro batch on each.',
      { default: null, sets: 'batch.global', fields: ['batch.accumulation'] },
    ],
    [
      'cutoff_len',
      'integer',
      'Tokens per sample; longer ones are cut.',
      { default: 2048, sets: 'batch.sequence', assumes: TRAINING },
    ],
    [
      'batching_strategy',
      'string',
      'Pad the samples of a batch, or join them into one row.',
      {
        values: ['normal', 'padding_free', 'dynamic_batching', 'dynamic_padding_free'],
        default: 'normal',
        sets: 'batch.packed',
        means: (node) => /padding_free/.test(textOf(node) ?? ''),
        assumes: TRAINING,
      },
    ],
    ['max_steps', 'integer', 'Optimizer steps of the whole run.', { default: null, sets: 'schedule.steps' }],
    [
      'bf16',
      'boolean',
      'FSDP 2 gathers weights and multiplies in bf16; they are fp32 in between.',
      {
        default: true,
        sets: 'precision.compute',
        fields: ['precision.scheme'],
        means: bf16Or32,
        assumes: TRAINING,
      },
    ],
    [
      'enable_activation_checkpointing',
      'boolean',
      'Keep the input of each layer only, and compute the rest again in backward.',
      {
        default: true,
        sets: 'activations.checkpointing',
        spellings: { full: true, none: false },
        assumes: TRAINING,
      },
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
  ...block('peft_config', PEFT, [
    ['name', 'string', 'LoRA, or some layers only.', { values: ['lora', 'freeze'], fields: ['method.kind'] }],
    ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, sets: 'lora.rank', assumes: PEFT }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 16, sets: 'lora.alpha', assumes: PEFT },
    ],
    [
      'lora_dropout',
      'number',
      'Dropout on the adapter input.',
      { default: 0.05, sets: 'lora.dropout', assumes: PEFT },
    ],
    [
      'target_modules',
      'any',
      'Modules that get an adapter.',
      { default: 'all', sets: 'lora.targets', means: targetsOf, assumes: PEFT },
    ],
    ['modules_to_save', 'any', 'Modules trained in full.', { default: null, sets: 'lora.modulesToSave' }],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, sets: 'lora.dora', assumes: PEFT }],
    [
      'freeze_trainable_layers',
      'integer',
      'Last layers that are trained; negative: first ones.',
      { default: 2, sets: 'method.trainableLayers', assumes: PEFT },
    ],
  ]),
  ...inertKeys('peft_config', PEFT, INERT, {
    any: `use_rslora adapter_name_or_path export_dir export_size export_hub_model_id infer_dtype export_legacy_format
      freeze_trainable_modules freeze_extra_modules cast_trainable_params_to_fp32`,
  }),
  ...block('quant_config', QUANTIZATION, [
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
      { default: true, sets: 'quantization.double', assumes: QUANTIZATION },
    ],
    [
      'compute_dtype',
      'string',
      'Type of products, and the one that packed weights are stored as.',
      {
        default: 'float16',
        sets: 'quantization.storage',
        means: (node) => weightsDtypeOf(textOf(node)),
        assumes: QUANTIZATION,
      },
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
      { default: true, sets: 'fsdp.strategy', spellings: { full: true, 'grad-op': false } },
    ],
    [
      'offload_params',
      'boolean',
      'Shards, gradients and states in host memory.',
      { default: false, fields: ['offload.parameters', 'offload.optimizer'] },
    ],
    ['pin_memory', 'boolean', 'Page-locked host memory.', { default: true, sets: 'offload.pinMemory' }],
    ['ep_size', 'integer', 'Expert-parallel size.', { default: 1, sets: 'parallel.expert' }],
    ['ep_dispatcher', 'string', 'How tokens reach their experts.', { default: null }],
    ['dcp_path', 'string', 'Checkpoint to load shard by shard.', { default: null }],
  ]),
  ...block('optim_config', `${V1}plugins/trainer_plugins/optimizer.py`, [
    ['name', 'string', 'Optimizer by its name.', { fields: ['optimizer.name'] }],
  ]),
  ...inertKeys('', `${V1}config`, INERT, {
    any: 'train_dataset eval_dataset lr_scheduler_config',
    string: 'template model_class output_dir resume_from_checkpoint sample_backend',
    integer:
      'num_train_epochs batching_workers seed save_steps save_total_limit logging_steps max_new_tokens',
    number: 'learning_rate max_grad_norm save_epochs beta',
    boolean: 'trust_remote_code full_determinism save_ckpt_as_hf',
  }),
];

export const LLAMA_FACTORY_V1_TABLE = new KeyTable(LLAMA_FACTORY_V1_KEYS, 'LLaMA-Factory');
