import RELEASES from '../../../data/framework-keys/llama-factory.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { textsOf } from '../../config/scalar';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_KEYS } from '../hf/training-arguments-keys';
import { block, inertKeys, type Row, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { isWeighed } from '../router-weight';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)], TRAINER_RELEASES);

const DOCS = 'https://llamafactory.readthedocs.io/en/latest/advanced/arguments.html';
const HPARAMS = fileIn(LLAMA_FACTORY, 'src/llamafactory/hparams/');

/** Names of modules; `all` is every linear layer. */
function modulesOf(node: ConfigNode): string[] | undefined {
  return textsOf(node)?.map((target) => (target === 'all' ? 'all-linear' : target));
}

const model = releasedBlock('', `${HPARAMS}model_args.py`, RELEASED, [
  ['model_name_or_path', 'Model on a hub, or a folder that holds it.', { sets: 'model.id' }],
  [
    'quantization_bit',
    'Bits that the frozen base weights are quantized to while loading.',
    { fields: ['quantization.kind'] },
  ],
  [
    'quantization_method',
    'Who quantizes: bitsandbytes (`bnb`), HQQ or EETQ.',
    { type: 'string', default: 'bnb', fields: ['quantization.kind'] },
  ],
  ['quantization_type', '4-bit type.', { values: ['fp4', 'nf4'], fields: ['quantization.kind'] }],
  [
    'double_quantization',
    'Quantize the block scales once more.',
    { sets: 'quantization.double', assumes: `${HPARAMS}model_args.py` },
  ],
  ['quantization_device_map', 'Device map of quantized inference.'],
  [
    'moe_aux_loss_coef',
    'Weight of the loss that balances the experts of a mixture; any but 0 has the model return the logits of its routers.',
    { sets: 'loss.routerLogits', means: isWeighed },
  ],
  [
    'flash_attn',
    'Attention kernel; `auto` leaves it to transformers (SDPA).',
    {
      type: 'string',
      values: ['auto', 'disabled', 'sdpa', 'fa2', 'fa3'],
      default: 'auto',
      sets: 'attention.implementation',
      spellings: { eager: 'disabled', sdpa: 'sdpa', flash2: 'fa2', flash3: 'fa3' },
    },
  ],
  ['shift_attn', 'Shifted sparse attention (LongLoRA).'],
  [
    'use_unsloth',
    "Unsloth's model code and LoRA kernels.",
    { sets: 'kernels.unsloth', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'use_unsloth_gc',
    'Checkpoints are moved to host memory until backward.',
    { sets: 'activations.offload', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'enable_liger_kernel',
    'Liger kernels in place of norms, SwiGLU, RoPE and the loss.',
    { sets: 'kernels.liger', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'disable_gradient_checkpointing',
    'Activation checkpointing is on unless this switches it off.',
    {
      sets: 'activations.checkpointing',
      assumes: `${HPARAMS}model_args.py`,
      spellings: { none: true, full: false },
    },
  ],
  [
    'use_reentrant_gc',
    'Reentrant checkpointing.',
    { sets: 'activations.reentrant', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'upcast_layernorm',
    'Norm weights in fp32. Nothing else is upcast beside a quantized base.',
    {
      sets: 'quantization.prepared',
      fields: ['quantization.recast'],
      assumes: fileIn(LLAMA_FACTORY, 'src/llamafactory/model/model_utils/checkpointing.py'),
    },
  ],
  ['upcast_lmhead_output', 'Logits in fp32.'],
  ['model_max_length', 'Longest input of the model.'],
  [
    'image_max_pixels',
    'Pixels that an image is scaled down to.',
    { sets: 'batch.imagePixels', assumes: `${HPARAMS}model_args.py` },
  ],
  ['video_max_pixels', 'Pixels that a video frame is scaled down to.'],
  ['video_maxlen', 'Most frames of a video.'],
  ['mixture_of_depths', 'Convert the model to mixture of depths.', { brings: 'mixture-of-depths' }],
  ['use_kt', 'KTransformers: experts on the CPU.', { brings: 'experts-on-host' }],
  [
    'fp8',
    'fp8 training: by torchao, or Transformer Engine (`fp8_backend: te`).',
    { fields: ['precision.fp8'] },
  ],
  ['train_from_scratch', 'Random weights instead of the checkpoint.', { sets: 'loading.newWeights' }],
]);

/** Arguments of Megatron-Core that LLaMA-Factory takes where it trains (`USE_MCA=1`, `mcore_adapter`), and refuses elsewhere. */
const megatron = block('', `${HPARAMS}training_args.py`, [
  ...(
    [
      ['tensor_model_parallel_size', 'Tensor-parallel size of Megatron-Core.'],
      ['pipeline_model_parallel_size', 'Pipeline-parallel size of Megatron-Core.'],
      ['expert_model_parallel_size', 'Expert-parallel size of Megatron-Core.'],
      ['context_parallel_size', 'Context-parallel size of Megatron-Core.'],
      ['virtual_pipeline_model_parallel_size', 'Stages of a pipeline on each rank of Megatron-Core.'],
    ] as const
  ).map(([name, doc]): Row => [name, 'integer', doc, { default: null, brings: 'megatron-backend' }]),
  ...(
    [
      ['sequence_parallel', 'Sequence parallelism of Megatron-Core.'],
      ['use_distributed_optimizer', 'States are sharded, by Megatron-Core.'],
      ['moe_grouped_gemm', 'Grouped products of experts of Megatron-Core.'],
      ['use_megatron_bridge', 'Megatron-Bridge trains.'],
    ] as const
  ).map(([name, doc]): Row => [name, 'boolean', doc, { default: false, brings: 'megatron-backend' }]),
]);

const method = releasedBlock('', `${HPARAMS}finetuning_args.py`, RELEASED, [
  [
    'stage',
    'What is trained for.',
    { values: ['pt', 'sft', 'rm', 'ppo', 'dpo', 'kto'], fields: ['method.objective', 'rollout.engine'] },
  ],
  [
    'finetuning_type',
    'What is trained.',
    { values: ['lora', 'oft', 'freeze', 'full'], fields: ['method.kind', 'lora.kind'] },
  ],
  [
    'pure_bf16',
    'Weights, gradients and states in bf16, no autocast.',
    { fields: ['precision.weights', 'precision.scheme', 'precision.compute'] },
  ],
  ['lora_rank', 'Rank of the LoRA matrices.', { sets: 'lora.rank', assumes: `${HPARAMS}finetuning_args.py` }],
  ['lora_alpha', 'LoRA scaling numerator; unset, twice the rank. Costs no memory.', { sets: 'lora.alpha' }],
  [
    'lora_dropout',
    'Dropout on the adapter input.',
    { sets: 'lora.dropout', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'lora_target',
    'Modules that get an adapter; `all` for every linear layer but the head.',
    { type: 'any', sets: 'lora.targets', assumes: `${HPARAMS}finetuning_args.py`, means: modulesOf },
  ],
  [
    'additional_target',
    'Modules trained in full beside the adapters.',
    { type: 'any', sets: 'lora.modulesToSave' },
  ],
  ['use_rslora', 'Scale by the root of the rank.'],
  ['use_dora', 'Weight-decomposed LoRA.', { sets: 'lora.dora', assumes: `${HPARAMS}finetuning_args.py` }],
  ['pissa_init', 'PiSSA initialisation of the adapters.'],
  ['oft_rank', 'Blocks of OFT.'],
  [
    'oft_block_size',
    'Block size of OFT.',
    { sets: 'lora.blockSize', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'oft_target',
    'Modules that OFT adapts.',
    { type: 'any', sets: 'lora.targets', assumes: `${HPARAMS}finetuning_args.py`, means: modulesOf },
  ],
  [
    'freeze_trainable_layers',
    'Last (negative: first) layers that are trained.',
    { sets: 'method.trainableLayers', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  ['freeze_trainable_modules', 'Modules of those layers that are trained.'],
  ['freeze_extra_modules', 'Further modules that are trained.'],
  ['freeze_vision_tower', 'The vision tower is not trained.', { fields: ['method.trainable'] }],
  ['freeze_multi_modal_projector', 'The projector is not trained.', { fields: ['method.trainable'] }],
  ['freeze_language_model', 'The language model is not trained.', { fields: ['method.trainable'] }],
  ['ref_model', 'Reference model of preference training.', { fields: ['method.referenceModel'] }],
  ['reward_model', 'Reward model of PPO.'],
  [
    'pref_loss',
    'Preference loss.',
    {
      values: ['sigmoid', 'hinge', 'ipo', 'kto_pair', 'orpo', 'simpo'],
      fields: ['method.objective', 'method.referenceModel'],
    },
  ],
  ['use_galore', 'GaLore: states in a low-rank projection.', { fields: ['optimizer.name'] }],
  ['galore_rank', 'Rank of GaLore.', { sets: 'optimizer.rank', assumes: `${HPARAMS}finetuning_args.py` }],
  [
    'galore_layerwise',
    'Step each layer as soon as its gradient is there.',
    { sets: 'optimizer.inBackward', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  ['use_apollo', 'APOLLO: states in a low-rank random projection.', { fields: ['optimizer.name'] }],
  ['apollo_rank', 'Rank of APOLLO.', { sets: 'optimizer.rank', assumes: `${HPARAMS}finetuning_args.py` }],
  [
    'apollo_layerwise',
    'Step each layer as soon as its gradient is there.',
    { sets: 'optimizer.inBackward', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  ['use_badam', 'BAdam: one block of layers is trained at a time.', { brings: 'block-training' }],
  ['use_asft_loss', 'ASFT: the loss holds the model to a frozen copy.', { brings: 'reference-model' }],
  ['use_mca', 'Megatron-Core trains, by mcore_adapter.', { brings: 'megatron-backend' }],
  ['use_hyper_parallel', 'HyperParallel trains.', { brings: 'hyper-parallel' }],
  ['badam_mode', 'Blocks of layers, or a share of the weights.', { values: ['layer', 'ratio'] }],
  ['use_adam_mini', 'Adam-mini: one second moment per block.', { fields: ['optimizer.name'] }],
  ['use_muon', 'Muon for matrices, AdamW for the rest.', { fields: ['optimizer.name'] }],
  ['use_llama_pro', 'Train the blocks that LLaMA Pro adds.', { fields: ['method.spreadLayers'] }],
]);

const data = releasedBlock('', `${HPARAMS}data_args.py`, RELEASED, [
  [
    'cutoff_len',
    'Tokens per sample; longer ones are cut.',
    { sets: 'batch.sequence', assumes: `${HPARAMS}data_args.py` },
  ],
  ['packing', 'Join samples into full rows; on by itself for `stage: pt`.', { sets: 'batch.packed' }],
  ['neat_packing', 'Packing without attention across samples.', { fields: ['batch.packed'] }],
]);

const rest = inertKeys(
  '',
  DOCS,
  'Setting of LLaMA-Factory that costs no GPU memory.',
  {
    released: `adapter_folder cache_dir init_special_tokens model_revision offload_folder infer_dtype hf_hub_token
    ms_hub_token om_hub_token template dataset_dir media_dir mix_strategy interleave_probs tool_format
    default_system tokenized_path reward_model_type badam_switch_mode badam_mask_mode galore_proj_type
    galore_target apollo_target apollo_proj apollo_proj_type apollo_scale_type export_dir export_device
    export_hub_model_id swanlab_project swanlab_workspace swanlab_run_name swanlab_mode swanlab_api_key
    swanlab_logdir kt_weight_path fp8_backend master_addr preprocessing_batch_size preprocessing_num_workers
    max_samples buffer_size eval_num_beams ppo_buffer_size ppo_epochs badam_start_block badam_switch_interval
    badam_verbose galore_update_interval apollo_update_interval pissa_iter early_stopping_steps image_min_pixels
    video_min_pixels audio_sampling_rate ray_num_workers ref_model_quantization_bit
    reward_model_quantization_bit top_k max_new_tokens vllm_maxlen sglang_maxlen num_beams loraplus_lr_ratio
    loraplus_lr_embedding pref_beta pref_ftx pref_bco_weight dpo_label_smoothing kto_chosen_weight
    kto_rejected_weight simpo_gamma ppo_target galore_scale apollo_scale badam_update_ratio ld_alpha asft_alpha
    eaft_alpha module_dropout video_fps val_size top_p temperature vllm_gpu_util
    sglang_mem_fraction length_penalty repetition_penalty use_fast_tokenizer resize_vocab split_special_tokens
    low_cpu_mem_usage use_kv_cache use_v1_kernels print_param_status trust_remote_code train_on_prompt
    mask_history streaming overwrite_cache ignore_pad_token_for_loss eval_on_each_dataset enable_thinking
    preserve_thinking data_shared_file_system pissa_convert create_new_adapter ppo_score_norm ppo_whiten_rewards
    use_dft_loss use_eaft_loss compute_accuracy disable_shuffling plot_loss
    include_effective_tokens_per_second apollo_scale_front use_swanlab
    image_do_pan_and_scan crop_to_patches use_audio_in_video visual_inputs fp8_enable_fsdp_float8_all_gather
    export_legacy_format do_sample ray_init_kwargs vllm_config sglang_config`,
    string: `infer_backend ray_run_name ray_storage_path placement_strategy kt_optimize_rule kt_config kt_cpu_activation
    kt_mode rope_scaling resource`,
    integer: `cpu_infer chunk_size hyper_parallel_cp_size kt_num_gpu_experts`,
    boolean: `use_kt_cpu tune_mm_proj bias_activation_fusion apply_rope_fusion overlap_param_gather overlap_grad_reduce`,
    any: `adapter_name_or_path dataset eval_dataset add_tokens add_special_tokens new_special_tokens_config
    ref_model_adapters reward_model_adapters megatron_bridge_args resources_per_worker`,
  },
  RELEASED,
);

/** LLaMA-Factory: its own arguments and the Trainer's in one flat file. */
export const LLAMA_FACTORY_KEYS: readonly KeySpec[] = [
  ...model,
  ...method,
  ...megatron,
  ...data,
  ...TRAINING_ARGUMENTS_KEYS,
  ...rest,
];

export const LLAMA_FACTORY_TABLE = new KeyTable(LLAMA_FACTORY_KEYS, 'LLaMA-Factory', RELEASED, true);
