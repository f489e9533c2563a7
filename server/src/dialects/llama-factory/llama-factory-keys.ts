import RELEASES from '../../../data/framework-keys/llama-factory.jsonl' with { type: 'text' };
import type { ConfigNode } from '../../config/node';
import { textsOf } from '../../config/scalar';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_KEYS } from '../hf/training-arguments-keys';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';

const DOCS = 'https://llamafactory.readthedocs.io/en/latest/advanced/arguments.html';
const HPARAMS = fileIn(LLAMA_FACTORY, 'src/llamafactory/hparams/');

/** Names of modules; `all` is every linear layer. */
function modulesOf(node: ConfigNode): string[] | undefined {
  return textsOf(node)?.map((target) => (target === 'all' ? 'all-linear' : target));
}

const model = block('', `${HPARAMS}model_args.py`, [
  ['model_name_or_path', 'string', 'Model on a hub, or a folder that holds it.', { sets: 'model.id' }],
  [
    'quantization_bit',
    'integer',
    'Bits that the frozen base weights are quantized to while loading.',
    { default: null, fields: ['quantization.kind'] },
  ],
  [
    'quantization_method',
    'string',
    'Who quantizes: bitsandbytes (`bnb`), HQQ or EETQ.',
    { default: 'bnb', fields: ['quantization.kind'] },
  ],
  [
    'quantization_type',
    'string',
    '4-bit type.',
    { values: ['fp4', 'nf4'], default: 'nf4', fields: ['quantization.kind'] },
  ],
  [
    'double_quantization',
    'boolean',
    'Quantize the block scales once more.',
    { default: true, sets: 'quantization.double', assumes: `${HPARAMS}model_args.py` },
  ],
  ['quantization_device_map', 'string', 'Device map of quantized inference.', { default: null }],
  [
    'flash_attn',
    'string',
    'Attention kernel; `auto` leaves it to transformers (SDPA).',
    {
      values: ['auto', 'disabled', 'sdpa', 'fa2', 'fa3'],
      default: 'auto',
      sets: 'attention.implementation',
      spellings: { eager: 'disabled', sdpa: 'sdpa', flash2: 'fa2', flash3: 'fa3' },
    },
  ],
  ['shift_attn', 'boolean', 'Shifted sparse attention (LongLoRA).', { default: false }],
  [
    'use_unsloth',
    'boolean',
    "Unsloth's model code and LoRA kernels.",
    { default: false, sets: 'kernels.unsloth', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'use_unsloth_gc',
    'boolean',
    'Checkpoints are moved to host memory until backward.',
    { default: false, sets: 'activations.offload', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'enable_liger_kernel',
    'boolean',
    'Liger kernels in place of norms, SwiGLU, RoPE and the loss.',
    { default: false, sets: 'kernels.liger', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'disable_gradient_checkpointing',
    'boolean',
    'Activation checkpointing is on unless this switches it off.',
    {
      default: false,
      sets: 'activations.checkpointing',
      assumes: `${HPARAMS}model_args.py`,
      spellings: { none: true, full: false },
    },
  ],
  [
    'use_reentrant_gc',
    'boolean',
    'Reentrant checkpointing.',
    { default: true, sets: 'activations.reentrant', assumes: `${HPARAMS}model_args.py` },
  ],
  [
    'upcast_layernorm',
    'boolean',
    'Norm weights in fp32. Nothing else is upcast beside a quantized base.',
    {
      default: false,
      sets: 'quantization.prepared',
      fields: ['quantization.recast'],
      assumes: fileIn(LLAMA_FACTORY, 'src/llamafactory/model/model_utils/checkpointing.py'),
    },
  ],
  ['upcast_lmhead_output', 'boolean', 'Logits in fp32.', { default: false }],
  ['model_max_length', 'integer', 'Longest input of the model.', { default: null }],
  [
    'image_max_pixels',
    'integer',
    'Pixels that an image is scaled down to.',
    { default: 589824, sets: 'batch.imagePixels', assumes: `${HPARAMS}model_args.py` },
  ],
  ['video_max_pixels', 'integer', 'Pixels that a video frame is scaled down to.', { default: 65536 }],
  ['video_maxlen', 'integer', 'Most frames of a video.', { default: 128 }],
  ['mixture_of_depths', 'string', 'Convert the model to mixture of depths.', { default: null }],
  ['use_kt', 'boolean', 'KTransformers: experts on the CPU.', { default: false }],
  ['train_from_scratch', 'boolean', 'Random weights instead of the checkpoint.', { default: false }],
]);

const method = block('', `${HPARAMS}finetuning_args.py`, [
  [
    'stage',
    'string',
    'What is trained for.',
    {
      values: ['pt', 'sft', 'rm', 'ppo', 'dpo', 'kto'],
      default: 'sft',
      fields: ['method.objective', 'rollout.engine'],
    },
  ],
  [
    'finetuning_type',
    'string',
    'What is trained.',
    { values: ['lora', 'oft', 'freeze', 'full'], default: 'lora', fields: ['method.kind', 'lora.kind'] },
  ],
  [
    'pure_bf16',
    'boolean',
    'Weights, gradients and states in bf16, no autocast.',
    { default: false, fields: ['precision.weights', 'precision.scheme', 'precision.compute'] },
  ],
  [
    'lora_rank',
    'integer',
    'Rank of the LoRA matrices.',
    { default: 8, sets: 'lora.rank', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'lora_alpha',
    'integer',
    'LoRA scaling numerator; unset, twice the rank. Costs no memory.',
    { default: null, sets: 'lora.alpha' },
  ],
  [
    'lora_dropout',
    'number',
    'Dropout on the adapter input.',
    { default: 0, sets: 'lora.dropout', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'lora_target',
    'any',
    'Modules that get an adapter; `all` for every linear layer but the head.',
    { default: 'all', sets: 'lora.targets', assumes: `${HPARAMS}finetuning_args.py`, means: modulesOf },
  ],
  [
    'additional_target',
    'any',
    'Modules trained in full beside the adapters.',
    { default: null, sets: 'lora.modulesToSave' },
  ],
  ['use_rslora', 'boolean', 'Scale by the root of the rank.', { default: false }],
  [
    'use_dora',
    'boolean',
    'Weight-decomposed LoRA.',
    { default: false, sets: 'lora.dora', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  ['pissa_init', 'boolean', 'PiSSA initialisation of the adapters.', { default: false }],
  ['oft_rank', 'integer', 'Blocks of OFT.', { default: 0 }],
  [
    'oft_block_size',
    'integer',
    'Block size of OFT.',
    { default: 32, sets: 'lora.blockSize', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'oft_target',
    'any',
    'Modules that OFT adapts.',
    { default: 'all', sets: 'lora.targets', assumes: `${HPARAMS}finetuning_args.py`, means: modulesOf },
  ],
  [
    'freeze_trainable_layers',
    'integer',
    'Last (negative: first) layers that are trained.',
    { default: 2, sets: 'method.trainableLayers', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  ['freeze_trainable_modules', 'string', 'Modules of those layers that are trained.', { default: 'all' }],
  ['freeze_extra_modules', 'string', 'Further modules that are trained.', { default: null }],
  [
    'freeze_vision_tower',
    'boolean',
    'The vision tower is not trained.',
    { default: true, fields: ['method.trainable'] },
  ],
  [
    'freeze_multi_modal_projector',
    'boolean',
    'The projector is not trained.',
    { default: true, fields: ['method.trainable'] },
  ],
  [
    'freeze_language_model',
    'boolean',
    'The language model is not trained.',
    { default: false, fields: ['method.trainable'] },
  ],
  [
    'ref_model',
    'string',
    'Reference model of preference training.',
    { default: null, fields: ['method.referenceModel'] },
  ],
  ['reward_model', 'string', 'Reward model of PPO.', { default: null }],
  [
    'pref_loss',
    'string',
    'Preference loss.',
    {
      values: ['sigmoid', 'hinge', 'ipo', 'kto_pair', 'orpo', 'simpo'],
      default: 'sigmoid',
      fields: ['method.objective', 'method.referenceModel'],
    },
  ],
  [
    'use_galore',
    'boolean',
    'GaLore: states in a low-rank projection.',
    { default: false, fields: ['optimizer.name'] },
  ],
  [
    'galore_rank',
    'integer',
    'Rank of GaLore.',
    { default: 16, sets: 'optimizer.rank', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'galore_layerwise',
    'boolean',
    'Step each layer as soon as its gradient is there.',
    { default: false, sets: 'optimizer.inBackward', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'use_apollo',
    'boolean',
    'APOLLO: states in a low-rank random projection.',
    { default: false, fields: ['optimizer.name'] },
  ],
  [
    'apollo_rank',
    'integer',
    'Rank of APOLLO.',
    { default: 16, sets: 'optimizer.rank', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  [
    'apollo_layerwise',
    'boolean',
    'Step each layer as soon as its gradient is there.',
    { default: false, sets: 'optimizer.inBackward', assumes: `${HPARAMS}finetuning_args.py` },
  ],
  ['use_badam', 'boolean', 'BAdam: one block of layers is trained at a time.', { default: false }],
  [
    'badam_mode',
    'string',
    'Blocks of layers, or a share of the weights.',
    { values: ['layer', 'ratio'], default: 'layer' },
  ],
  [
    'use_adam_mini',
    'boolean',
    'Adam-mini: one second moment per block.',
    { default: false, fields: ['optimizer.name'] },
  ],
  [
    'use_muon',
    'boolean',
    'Muon for matrices, AdamW for the rest.',
    { default: false, fields: ['optimizer.name'] },
  ],
  [
    'use_llama_pro',
    'boolean',
    'Train the blocks that LLaMA Pro adds.',
    { default: false, fields: ['method.spreadLayers'] },
  ],
]);

const data = block('', `${HPARAMS}data_args.py`, [
  [
    'cutoff_len',
    'integer',
    'Tokens per sample; longer ones are cut.',
    { default: 2048, sets: 'batch.sequence', assumes: `${HPARAMS}data_args.py` },
  ],
  [
    'packing',
    'boolean',
    'Join samples into full rows; on by itself for `stage: pt`.',
    { default: null, sets: 'batch.packed' },
  ],
  [
    'neat_packing',
    'boolean',
    'Packing without attention across samples.',
    { default: false, fields: ['batch.packed'] },
  ],
]);

const rest = inertKeys('', DOCS, 'Setting of LLaMA-Factory that costs no GPU memory.', {
  string: `adapter_folder cache_dir init_special_tokens model_revision infer_backend offload_folder infer_dtype
    hf_hub_token ms_hub_token om_hub_token template dataset_dir media_dir mix_strategy interleave_probs tool_format
    default_system tokenized_path reward_model_type badam_switch_mode badam_mask_mode galore_proj_type galore_target
    apollo_target apollo_proj apollo_proj_type apollo_scale_type export_dir export_device export_hub_model_id
    swanlab_project swanlab_workspace swanlab_run_name swanlab_mode swanlab_api_key swanlab_logdir ray_run_name
    ray_storage_path placement_strategy kt_optimize_rule kt_config kt_cpu_activation kt_weight_path kt_mode rope_scaling
    fp8_backend master_addr resource`,
  integer: `preprocessing_batch_size preprocessing_num_workers max_samples buffer_size eval_num_beams ppo_buffer_size
    ppo_epochs badam_start_block badam_switch_interval badam_verbose galore_update_interval apollo_update_interval
    pissa_iter early_stopping_steps image_min_pixels video_min_pixels audio_sampling_rate ray_num_workers cpu_infer
    chunk_size ref_model_quantization_bit reward_model_quantization_bit hyper_parallel_cp_size top_k max_new_tokens
    vllm_maxlen sglang_maxlen kt_num_gpu_experts num_beams`,
  number: `loraplus_lr_ratio loraplus_lr_embedding pref_beta pref_ftx pref_bco_weight dpo_label_smoothing
    kto_chosen_weight kto_rejected_weight simpo_gamma ppo_target galore_scale apollo_scale badam_update_ratio ld_alpha
    asft_alpha eaft_alpha moe_aux_loss_coef module_dropout video_fps val_size top_p temperature vllm_gpu_util
    sglang_mem_fraction length_penalty repetition_penalty`,
  boolean: `use_fast_tokenizer resize_vocab split_special_tokens low_cpu_mem_usage use_kv_cache use_v1_kernels
    print_param_status trust_remote_code train_on_prompt mask_history streaming overwrite_cache
    ignore_pad_token_for_loss eval_on_each_dataset enable_thinking preserve_thinking data_shared_file_system
    pissa_convert create_new_adapter ppo_score_norm ppo_whiten_rewards use_dft_loss use_asft_loss use_eaft_loss
    compute_accuracy disable_shuffling plot_loss include_effective_tokens_per_second apollo_scale_front use_swanlab
    use_mca use_megatron_bridge use_hyper_parallel image_do_pan_and_scan crop_to_patches use_audio_in_video
    use_kt_cpu visual_inputs tune_mm_proj fp8 fp8_enable_fsdp_float8_all_gather export_legacy_format do_sample
    sequence_parallel bias_activation_fusion apply_rope_fusion use_distributed_optimizer overlap_param_gather
    overlap_grad_reduce moe_grouped_gemm`,
  any: `adapter_name_or_path dataset eval_dataset add_tokens add_special_tokens new_special_tokens_config
    ref_model_adapters reward_model_adapters megatron_bridge_args resources_per_worker ray_init_kwargs vllm_config
    sglang_config`,
});

/** LLaMA-Factory: its own arguments and the Trainer's in one flat file. */
export const LLAMA_FACTORY_KEYS: readonly KeySpec[] = [
  ...model,
  ...method,
  ...data,
  ...TRAINING_ARGUMENTS_KEYS,
  ...rest,
];

export const LLAMA_FACTORY_TABLE = new KeyTable(
  LLAMA_FACTORY_KEYS,
  'LLaMA-Factory',
  new ReleasedKeys([new FrameworkKeys(RELEASES)], TRAINER_RELEASES),
);
