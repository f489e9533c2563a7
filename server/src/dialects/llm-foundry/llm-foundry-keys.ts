import RELEASES from '../../../data/framework-keys/llm-foundry.jsonl' with { type: 'text' };
import { fileIn, LLM_FOUNDRY } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, inertKeys, movedRow, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { ROUTER_LOGITS } from '../router-weight';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES), 'TrainConfig']);

const SOURCE = fileIn(LLM_FOUNDRY, 'llmfoundry/utils/config_utils.py');
const FSDP = 'https://docs.mosaicml.com/projects/composer/en/stable/notes/distributed_training.html';
const PLATFORM = 'https://docs.mosaicml.com/projects/mcli/en/latest/training/yaml_schema.html';
const MPT = fileIn(LLM_FOUNDRY, 'llmfoundry/models/mpt/configuration_mpt.py');

const TRAINING: readonly KeySpec[] = [
  ...releasedBlock('', SOURCE, RELEASED, [
    [
      'model',
      'Model: by its name on the Hub, or MPT spelled out.',
      { fields: ['model.id', 'model.config', 'loss.implementation'] },
    ],
    ['max_seq_len', 'Tokens per sample.', { sets: 'batch.sequence' }],
    ['global_train_batch_size', 'Samples per optimizer step over all GPUs.', { sets: 'batch.global' }],
    [
      'device_train_microbatch_size',
      'Samples per GPU and forward pass; `auto` halves it after every out-of-memory error.',
      { fields: ['batch.micro', 'batch.accumulation'] },
    ],
    [
      'device_train_grad_accum',
      'Old way to say how often the batch of a GPU is cut.',
      { deprecated: 'device_train_microbatch_size', fields: ['batch.accumulation'] },
    ],
    [
      'device_eval_batch_size',
      'Samples per GPU of an evaluation batch.',
      { type: 'integer', default: 1, sets: 'evaluation.batch' },
    ],
    [
      'precision',
      'Type that is computed in, over fp32 weights.',
      {
        values: ['fp32', 'amp_fp16', 'amp_bf16', 'amp_fp8', 'bf16', 'fp16'],
        fields: ['precision.compute', 'precision.scheme'],
      },
    ],
    [
      'fsdp_config',
      'FSDP settings of Composer; without them every GPU holds the whole model.',
      { fields: ['parallel.data'] },
    ],
    [
      'expandable_segments',
      "Segments of PyTorch's allocator grow: the training script sets it in the environment.",
      { sets: 'allocator.expandableSegments', assumes: SOURCE },
    ],
    ['tp_config', 'Tensor parallelism.', { fields: ['parallel.tensor'] }],
    ['optimizer', 'Optimizer and its arguments.', { fields: ['optimizer.name', 'optimizer.implementation'] }],
    [
      'max_duration',
      'Length of the run: `1000ba` steps, `1ep` epochs, `1e12tok` tokens.',
      { fields: ['schedule.steps', 'schedule.tokens'] },
    ],
    ['variables', 'Values that others refer to.'],
    ['train_loader', 'Training data.'],
    ['eval_loader', 'Evaluation data.', { type: 'any', fields: ['evaluation.enabled'] }],
    ['eval_interval', 'How often the run evaluates.', { fields: ['evaluation.enabled'] }],
    ['tokenizer', 'Tokenizer.'],
    [
      'gpu_num',
      'GPUs over all nodes (old place).',
      { type: 'integer', alias: 'compute.gpus', sets: 'hardware.gpus' },
    ],
    [
      'gpu_type',
      'GPU by its name on the platform (old place).',
      { type: 'string', alias: 'compute.gpu_type', sets: 'hardware.gpu' },
    ],
  ]),
  ...block('model', MPT, [
    ['name', 'string', 'Kind of model.', { fields: ['model.config'] }],
    ['pretrained_model_name_or_path', 'string', 'Model on the Hugging Face Hub.', { sets: 'model.id' }],
    [
      'config_overrides',
      'object',
      "Fields of the model's config that are replaced.",
      { fields: ['model.changes'] },
    ],
    [
      'config_overrides.output_router_logits',
      'boolean',
      ROUTER_LOGITS,
      { default: null, sets: 'loss.routerLogits' },
    ],
    [
      'loss_fn',
      'string',
      "Cross-entropy: flash-attn's kernel, or PyTorch's over all logits.",
      {
        values: ['fused_crossentropy', 'torch_crossentropy'],
        default: 'fused_crossentropy',
        fields: ['loss.implementation'],
      },
    ],
    ['max_seq_len', 'integer', 'Tokens per sample.', { alias: 'max_seq_len', sets: 'batch.sequence' }],
    ['d_model', 'integer', 'Hidden size.', { default: 2048, fields: ['model.config'] }],
    ['n_heads', 'integer', 'Attention heads.', { default: 16, fields: ['model.config'] }],
    ['n_layers', 'integer', 'Layers.', { default: 24, fields: ['model.config'] }],
    ['expansion_ratio', 'any', 'MLP width over hidden size.', { default: 4, fields: ['model.config'] }],
    ['vocab_size', 'integer', 'Vocabulary.', { default: 50368, fields: ['model.config'] }],
    ['resid_pdrop', 'number', 'Dropout of what layers add.', { default: 0, fields: ['model.config'] }],
    ['emb_pdrop', 'number', 'Dropout of embeddings.', { default: 0, fields: ['model.config'] }],
    [
      'attn_impl',
      'string',
      'Attention kernel (old place).',
      { deprecated: 'model.attn_config.attn_impl', fields: ['attention.implementation'] },
    ],
    [
      'use_flash_attention_2',
      'boolean',
      'FlashAttention 2 for models of the Hub.',
      { default: false, fields: ['attention.implementation'] },
    ],
    ['attn_config', 'object', 'Attention.', { default: null, fields: ['attention.implementation'] }],
    ['peft_config', 'object', 'LoRA.', { default: null, fields: ['method.kind'] }],
    [
      'init_device',
      'string',
      'Where the model is made.',
      { values: ['meta', 'cpu', 'mixed'], default: 'cpu', fields: ['loading.placement'] },
    ],
  ]),
  ...block('fsdp_config', FSDP, [
    [
      'sharding_strategy',
      'string',
      'What FSDP shards.',
      {
        values: ['FULL_SHARD', 'SHARD_GRAD_OP', 'NO_SHARD', 'HYBRID_SHARD', '_HYBRID_SHARD_ZERO2'],
        default: 'FULL_SHARD',
        fields: ['fsdp.strategy'],
      },
    ],
    [
      'mixed_precision',
      'any',
      '`PURE` reduces gradients in the low type, `DEFAULT` in fp32.',
      { default: 'DEFAULT', fields: ['precision.reduce'] },
    ],
    [
      'activation_checkpointing',
      'boolean',
      'Keep the input of each block only.',
      {
        default: false,
        sets: 'activations.checkpointing',
        spellings: { full: true, none: false },
        assumes: true,
      },
    ],
    [
      'activation_checkpointing_reentrant',
      'boolean',
      'Reentrant checkpointing.',
      { default: true, sets: 'activations.reentrant', assumes: true },
    ],
    [
      'activation_cpu_offload',
      'boolean',
      'Move what backward needs to host memory.',
      { default: false, sets: 'activations.offload', assumes: true },
    ],
    [
      'cpu_offload',
      'boolean',
      'Weights, gradients and states in host memory.',
      { default: false, fields: ['offload.parameters'] },
    ],
    ['limit_all_gathers', 'boolean', 'At most two blocks are gathered at once.', { default: true }],
  ]),
  ...inertKeys(
    '',
    SOURCE,
    'Setting of llm-foundry that costs no GPU memory.',
    {
      released: `scheduler algorithms callbacks loggers eval_subset_num_batches eval_first save_overwrite load_path
      load_weights_only autoresume python_log_level compile_config metadata run_name eval_gauntlet icl_tasks_str
      save_folder save_filename seed progress_bar log_to_console dist_timeout profiler max_split_size_mb
      cuda_load_lazy load_strict_model_weights save_num_checkpoints_to_keep save_weights_only
      only_hf_checkpoint only_composer_checkpoint log_config train_subset_num_batches
      accumulate_train_batch_on_tokens device_train_batch_size spin_dataloaders`,
      any: `data_local data_remote save_interval icl_tasks env_variables integrations image compute cluster command
      parameters name console_log_interval tokenizer_name global_seed code_paths save_ignore_keys load_ignore_keys
      final_register_only eval_drop_last reset_time grad_accum grad_clip_norm is_hf use_deepspeed mlm_probability
      lora platform algorithm label_smoothing device project trainer dataset`,
    },
    RELEASED,
  ),
  ...block('model.attn_config', MPT, [
    [
      'attn_impl',
      'string',
      'Attention kernel: `flash`, or `torch`, which keeps the scores of every head.',
      { default: 'flash', fields: ['attention.implementation'] },
    ],
    ['alibi', 'boolean', 'Positions by a bias instead of an embedding.', { default: false }],
    ['kv_n_heads', 'integer', 'Key-value heads.', { default: null, fields: ['model.config'] }],
  ]),
  ...block('model.peft_config', SOURCE, [
    ['peft_type', 'string', 'Kind of the adapter.'],
    ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, sets: 'lora.rank' }],
    ['lora_alpha', 'number', 'LoRA scaling numerator. Costs no memory.', { default: 8, sets: 'lora.alpha' }],
    ['lora_dropout', 'number', 'Dropout on the adapter input.', { default: 0, sets: 'lora.dropout' }],
    ['target_modules', 'any', 'Modules that get an adapter.', { default: null, sets: 'lora.targets' }],
  ]),
  ...block('optimizer', SOURCE, [
    [
      'name',
      'string',
      'Optimizer by its registered name.',
      { fields: ['optimizer.name', 'optimizer.implementation'] },
    ],
  ]),
  ...block('train_loader', SOURCE, [
    [
      'name',
      'string',
      'Kind of loader: `text` cuts streams of tokens to length.',
      { fields: ['batch.packed'] },
    ],
    ['dataset', 'object', 'Data set.'],
  ]),
  ...block('train_loader.dataset', SOURCE, [
    [
      'packing_ratio',
      'any',
      'Samples joined into a row of `max_seq_len` tokens, on average.',
      { default: null, fields: ['batch.packed'] },
    ],
    ['max_seq_len', 'integer', 'Tokens per sample.', { alias: 'max_seq_len', sets: 'batch.sequence' }],
  ]),
];

/** Keys of llm-foundry's configs, and of runs of MosaicML that wrap one in `parameters`. */
export const LLM_FOUNDRY_KEYS: readonly KeySpec[] = [
  ...TRAINING,
  ...TRAINING.map((row) =>
    movedRow(`parameters.${row.path}`, row, {
      alias: row.alias === undefined ? undefined : `parameters.${row.alias}`,
    }),
  ),
  ...block('compute', PLATFORM, [
    ['gpus', 'integer', 'GPUs over all nodes.', { sets: 'hardware.gpus' }],
    ['gpu_type', 'string', 'GPU by its name on the platform.', { sets: 'hardware.gpu' }],
  ]),
];

export const LLM_FOUNDRY_TABLE = new KeyTable(LLM_FOUNDRY_KEYS, 'llm-foundry', RELEASED);
