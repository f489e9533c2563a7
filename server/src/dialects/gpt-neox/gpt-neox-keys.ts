import RELEASES from '../../../data/framework-keys/gpt-neox.jsonl' with { type: 'text' };
import { fileIn, GPT_NEOX } from '../../sources/repositories';
import { DEEPSPEED_KEYS } from '../deepspeed/deepspeed-keys';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { inertKeys, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)]);

const SOURCE = fileIn(GPT_NEOX, 'megatron/neox_arguments/neox_args.py');
const DEEPSPEED = fileIn(GPT_NEOX, 'megatron/neox_arguments/deepspeed_args.py');
const MODEL = ['model.config'] as const;

/** Blocks that GPT-NeoX hands to DeepSpeed as they are. */
const BLOCKS = /^(zero_optimization|fp16|bf16|optimizer)\./;

/** Keys of GPT-NeoX, underscores for dashes. */
export const GPT_NEOX_KEYS: readonly KeySpec[] = [
  ...releasedBlock('', SOURCE, RELEASED, [
    ['num_layers', 'Transformer layers.', { fields: MODEL }],
    ['hidden_size', 'Width of the model.', { fields: MODEL }],
    ['num_attention_heads', 'Attention heads.', { fields: MODEL }],
    ['num_kv_heads', 'Key and value heads. Unset: as many as heads.', { fields: MODEL }],
    [
      'intermediate_size',
      'Width of the MLP before rounding. A gated MLP takes two thirds of it for gate and up together, so a third for each branch: about three times what `intermediate_size` of Hugging Face is. Unset: 4 × hidden size.',
      { fields: MODEL },
    ],
    ['expansion_factor', 'Width of the MLP over the hidden size.', { fields: MODEL }],
    [
      'mlp_multiple_of',
      'The width of the MLP is rounded up to a multiple of this (twice this where gate and up are one).',
      { fields: MODEL },
    ],
    ['seq_length', 'Tokens per sample.', { sets: 'batch.sequence' }],
    [
      'max_position_embeddings',
      'Most positions; rows of the table where they are learned.',
      { fields: MODEL },
    ],
    [
      'norm',
      'Norm.',
      {
        values: [
          'layernorm',
          'rmsnorm',
          'non_parametric_layernorm',
          'scalenorm',
          'te_rmsnorm',
          'te_layernorm',
        ],
        fields: MODEL,
      },
    ],
    [
      'pos_emb',
      'Kind of positions; learned ones have a table.',
      { values: ['learned', 'rotary', 'sinusoidal', 'rpe', 'alibi', 'none'], fields: MODEL },
    ],
    ['rotary_pct', 'Share of each head that is rotated.', { fields: MODEL }],
    ['no_weight_tying', 'The head has a matrix of its own.', { fields: MODEL }],
    [
      'activation',
      'Activation of the MLP; those with `glu`, and `bilinear`, are gated.',
      {
        values: [
          'gelu',
          'geglu',
          'relu',
          'softsign',
          'swish',
          'mish',
          'silu',
          'reglu',
          'swiglu',
          'bilinear',
          'glu',
        ],
        fields: MODEL,
      },
    ],
    ['use_bias_in_attn_linear', 'Linear layers of attention have biases.', { fields: MODEL }],
    ['use_bias_in_mlp', 'Linear layers of the MLP have biases.', { fields: MODEL }],
    ['use_bias_in_norms', 'No code reads this: layer norms have biases, RMS norms have none.'],
    ['use_qk_layernorm', 'Queries and keys are normed.', { fields: MODEL }],
    ['gpt_j_residual', 'Attention and MLP side by side.', { fields: MODEL }],
    ['gpt_j_tied', 'Both take the same norm.', { fields: MODEL }],
    ['sliding_window_width', 'Window of attention.', { fields: MODEL }],
    [
      'make_vocab_size_divisible_by',
      'The vocabulary is padded to a multiple of this times the model-parallel size.',
      { sets: 'parallel.vocabularyMultiple', assumes: true },
    ],
    ['tokenizer_type', 'Tokenizer; its vocabulary gives the rows of the embedding.', { fields: MODEL }],
    ['vocab_file', 'File of the tokenizer.', { fields: MODEL }],
    ['hidden_dropout', 'Dropout of the branches; above 0 each keeps a mask.', { fields: MODEL }],
    ['attention_dropout', 'Dropout of attention.', { fields: MODEL }],
    [
      'attention_config',
      'Kernel of attention by layer: `[[["flash"], 12]]`.',
      { fields: ['attention.implementation'] },
    ],
    ['moe_num_experts', 'Experts.', { type: 'integer', default: 1, fields: MODEL }],
    ['moe_top_k', 'Experts that a token takes.', { type: 'integer', default: 1, fields: MODEL }],
    ['moe_expert_interval', 'Every N-th layer has experts.', { type: 'integer', default: 1, fields: MODEL }],
    ['pipe_parallel_size', 'Pipeline-parallel size; 0 and 1: one stage.', { fields: ['parallel.pipeline'] }],
    [
      'model_parallel_size',
      'Tensor-parallel size.',
      { sets: 'parallel.tensor', assumes: true, fields: ['parallel.expert', 'parallel.expertTensor'] },
    ],
    [
      'sequence_parallel',
      'Norms and dropout work on a part of the sequence.',
      { sets: 'parallel.sequence', assumes: true },
    ],
    [
      'precision',
      'Type of weights and products. Unset: fp32.',
      {
        values: ['fp16', 'fp32', 'bfloat16'],
        fields: ['precision.weights', 'precision.compute', 'precision.scheme'],
      },
    ],
    ['use_bnb_optimizer', '8-bit Adam of bitsandbytes.', { fields: ['optimizer.name'] }],
    [
      'checkpoint_activations',
      'Recompute layers in backward.',
      { sets: 'activations.checkpointing', spellings: { full: true, none: false }, assumes: true },
    ],
    [
      'checkpoint_num_layers',
      'Layers of a recomputed segment.',
      { sets: 'activations.checkpointEvery', assumes: true },
    ],
    [
      'partition_activations',
      'Checkpoints are split over model-parallel ranks.',
      { sets: 'activations.distributed' },
    ],
    ['checkpoint_in_cpu', 'Checkpoints lie in host memory.', { sets: 'activations.offload', assumes: true }],
    ['train_iters', 'Optimizer steps of the whole run.', { sets: 'schedule.steps' }],
    ['eval_iters', 'Steps of a validation.', { fields: ['evaluation.enabled'] }],
    ['num_gpus', 'GPUs per machine.', { fields: ['hardware.gpus'] }],
    ['num_nodes', 'Machines; -1: all of the host file.', { fields: ['hardware.nodes'] }],
    ['global_num_gpus', 'GPUs over all machines.', { fields: ['hardware.gpus'] }],
    [
      'train_impl',
      'What is trained for.',
      {
        values: ['normal', 'dpo', 'rm', 'kto', 'reinforce'],
        fields: ['method.objective', 'method.referenceModel'],
      },
    ],
    ['dpo_reference_free', 'DPO without a reference model.', { fields: ['method.referenceModel'] }],
    [
      'batch_size',
      'Samples per GPU and forward pass.',
      { deprecated: 'train_micro_batch_size_per_gpu', sets: 'batch.micro' },
    ],
    [
      'gas',
      'Micro batches per step.',
      { type: 'integer', deprecated: 'gradient_accumulation_steps', sets: 'batch.accumulation' },
    ],
  ]),
  ...releasedBlock('', DEEPSPEED, RELEASED, [
    ['train_micro_batch_size_per_gpu', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
    ['gradient_accumulation_steps', 'Micro batches per step.', { sets: 'batch.accumulation' }],
    ['train_batch_size', 'Samples per step over all GPUs.', { sets: 'batch.global' }],
    [
      'zero_optimization',
      "DeepSpeed's ZeRO. A block given here replaces all defaults.",
      { fields: ['zero.stage'] },
    ],
    ['optimizer', 'Optimizer, in the form of DeepSpeed.', { fields: ['optimizer.name'] }],
    ['fp16', "DeepSpeed's fp16 block.", { fields: ['precision.weights'] }],
    ['bf16', "DeepSpeed's bf16 block.", { fields: ['precision.weights'] }],
    ['fp32_allreduce', 'Gradients are reduced in fp32.', { fields: ['precision.reduce'] }],
  ]),
  ...DEEPSPEED_KEYS.filter(({ path }) => BLOCKS.test(path)),
  ...['fp16', 'bf16'].flatMap((name) =>
    inertKeys(name, SOURCE, 'Key of GPT-NeoX that costs no GPU memory.', { boolean: name }),
  ),
  ...inertKeys(
    '',
    SOURCE,
    'Key of GPT-NeoX that costs no GPU memory.',
    {
      released: `account autotuning_run base_shapes_file comment data_path deepscale_config distributed_backend
    eval_results_prefix exclude git_hash hostfile include load log_dir master_addr memory_profiling_path
    merge_file param_sharing_style pipe_partition_method precompute_model_name prompt_end s3_path
    sample_input_file sample_output_file save split te_fp8_amax_compute_algo tensorboard_dir text_gen_type
    user_script wandb_group wandb_host wandb_project wandb_run_name wandb_team activation_checkpointing amp
    autotuning checkpoint comms_logger compression_training config_files csv_monitor curriculum_learning
    data_efficiency data_types deepspeed_extra_args elasticity flops_profiler scheduler soft_prompt_tuning
    sparse_attention sparsity_config tensorboard wandb adlr_autoresume allow_chopped
    apply_query_key_layer_scaling attention_softmax_in_fp32 bias_dropout_fusion bias_gelu_fusion char_level_ppl
    checkpoint_validation_with_forward_pass communication_data_type contiguous_checkpointing coord_check
    deepscale deepspeed deepspeed_activation_checkpointing deepspeed_mpi deepspeed_slurm do_test do_train
    do_valid dpo_fp32 dump_state dynamic_loss_scale eod_mask_loss finetune force_multi fp16_lm_cross_entropy
    fp32_reinforce gradient_noise_scale_cpu_offload is_pipe_parallel kto_fp32 layernorm_fusion lazy_mpu_init
    log_grad_norm log_grad_pct_zeros log_gradient_noise_scale log_optimizer_states log_param_norm
    mamba_causal_conv_fusion mamba_inner_func_fusion mamba_selective_fp32_params mamba_selective_scan_fusion
    mamba_use_bias_in_conv mamba_use_bias_in_linears memory_profiling mmap_warmup no_load_optim no_load_rng
    no_save_optim no_save_rng no_ssh_check onnx_safe override_lr_scheduler prescale_gradients profile
    profile_backward recompute reinforce_leave_one_out return_logits rmsnorm_fusion rope_fusion
    rotary_save_freqs_buffer save_base_shapes scaled_masked_softmax_fusion
    scaled_upper_triang_masked_softmax_fusion serve_model_weights sparse_gradients synchronize_each_layer
    te_columnparallel te_fp8_mha te_fp8_wgrad te_layernorm_mlp te_mha te_rowparallel use_checkpoint_lr_scheduler
    use_comet use_cpu_initialization use_flashattn_swiglu use_mup use_shared_fs use_wandb wall_clock_breakdown
    wandb_init_all_ranks weight_by_num_documents zero_contiguous_gradients zero_reduce_scatter
    adlr_autoresume_interval curriculum_seqlen dim_att eval_interval exit_interval ffn_dim gmlp_attn_dim
    gradient_noise_scale_n_batches head_size hysteresis iteration keep_last_n_checkpoints local_rank
    log_interval lr_decay_iters master_port maximum_tokens mup_width_scale num_samples num_unique_layers
    num_workers opt_pos_emb_offset padded_vocab_size profile_step_start profile_step_stop rank rotary_emb_base
    rpe_max_distance rpe_num_buckets s3_chunk_size seed steps_per_print te_fp8_amax_history_len te_fp8_margin
    top_k train_epochs world_size zero_allgather_bucket_size zero_reduce_bucket_size comet_experiment
    online_dataserver_ips online_dataserver_ports weight_server_port zero_stage clip_grad dpo_beta
    gradient_clipping gradient_predivide_factor init_method_std kl_div_beta kto_beta kto_desirable_weight
    kto_undesirable_weight layernorm_epsilon loss_scale loss_scale_window lr lr_decay_fraction min_lr min_scale
    mup_attn_temp mup_embedding_mult mup_init_scale mup_output_temp mup_rp_embedding_mult
    peak_theoretical_tflops rms_norm_epsilon scalenorm_epsilon short_seq_prob temperature top_p warmup
    weight_decay weighted_sampler_alpha z_loss eval_tasks extra_save_iters neg_test_data_paths
    neg_test_label_data_paths neg_train_data_paths neg_train_label_data_paths neg_valid_data_paths
    neg_valid_label_data_paths pos_test_data_paths pos_test_label_data_paths pos_train_data_paths
    pos_train_label_data_paths pos_valid_data_paths pos_valid_label_data_paths test_data_paths test_data_weights
    test_label_data_paths test_reward_data_paths train_data_paths train_data_weights train_label_data_paths
    train_reward_data_paths valid_data_paths valid_data_weights valid_label_data_paths valid_reward_data_paths`,
      boolean: `moe_lbl_in_fp32`,
      any: `checkpoint_factor checkpoint_scale comet_experiment_name comet_others comet_project comet_tags
    comet_workspace data_impl dataset_impl fused_kernels_build_path init_method kl_impl launcher lr_decay_style
    moe_router_type optimizer_type output_layer_init_method output_layer_parallelism pack_impl te_fp8_format`,
      number: `moe_jitter_eps`,
    },
    RELEASED,
  ),
];

export const GPT_NEOX_TABLE = new KeyTable(GPT_NEOX_KEYS, 'GPT-NeoX', RELEASED, true);
