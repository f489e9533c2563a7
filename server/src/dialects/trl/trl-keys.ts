import { fileIn, TRL } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { ReleasedKeys } from '../framework-keys';
import { MODEL_ARGUMENTS_KEYS, TRL_RELEASES } from '../hf/model-arguments-keys';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_KEYS } from '../hf/training-arguments-keys';
import { block, inertKeys, movedRow, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';
import { isWeighed, ROUTER_LOGITS } from '../router-weight';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys(
  [TRL_RELEASES, 'ModelConfig', 'SFTConfig', 'DPOConfig', 'GRPOConfig', 'RewardConfig', 'KTOConfig'],
  TRAINER_RELEASES,
);

const SFT = 'https://huggingface.co/docs/trl/sft_trainer#trl.SFTConfig';
const DPO = 'https://huggingface.co/docs/trl/dpo_trainer#trl.DPOConfig';
const GRPO = 'https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOConfig';
const CLIS = 'https://huggingface.co/docs/trl/clis';

const SOURCE = fileIn(TRL, 'trl/trainer/');

const lengths = [
  ...releasedBlock('', SFT, RELEASED, [
    [
      'max_length',
      'Tokens per sample, 1024 where it is not there; longer ones are cut. With packing, the length of every row. `null` cuts nothing.',
      { sets: 'batch.sequence' },
    ],
    [
      'max_seq_length',
      'Name of `max_length` in TRL before 0.16 and in the alignment handbook.',
      { default: 1024, sets: 'batch.sequence', alias: 'max_length' },
    ],
    ['packing', 'Join samples into full rows of `max_length` tokens.', { fields: ['batch.packed'] }],
    [
      'packing_strategy',
      'How samples are packed.',
      { values: ['bfd', 'bfd_split', 'bfd-requeue', 'ffd', 'wrapped'] },
    ],
    ['eval_packing', 'Pack the evaluation data too.'],
    [
      'padding_free',
      'Join the samples of a batch into one row, without padding.',
      { fields: ['batch.packed', 'batch.paddingFree'] },
    ],
    [
      'activation_offloading',
      'Move what backward needs to host memory until then.',
      { sets: 'activations.offload', assumes: `${SOURCE}sft_config.py` },
    ],
    ['loss_type', 'Kind of loss.', { type: 'any', default: null }],
    [
      'router_aux_loss_coef',
      'Weight of the loss that balances the experts of a mixture; any but 0 has the model return the logits of its routers.',
      { sets: 'loss.routerLogits', means: isWeighed },
    ],
    [
      'model_init_kwargs.quantization_config',
      'Quantization of the base weights while loading.',
      { type: 'object', default: null, fields: ['quantization.kind'] },
    ],
    // A program gives a type of PyTorch, where a recipe has its name.
    [
      'model_init_kwargs.dtype',
      'Type that the weights are loaded in; `auto` takes the type of the checkpoint.',
      { type: 'any', default: null, fields: ['precision.weights'] },
    ],
    [
      'model_init_kwargs.output_router_logits',
      ROUTER_LOGITS,
      { type: 'boolean', default: null, sets: 'loss.routerLogits' },
    ],
  ]),
  ...block('', DPO, [
    [
      'max_prompt_length',
      'integer',
      'Tokens of the prompt; longer ones are cut.',
      { default: 512, fields: ['batch.sequence'] },
    ],
    [
      'max_completion_length',
      'integer',
      'Tokens of the completion.',
      { default: null, sets: 'rollout.completion', fields: ['batch.sequence', 'rollout.completion'] },
    ],
    ['max_target_length', 'integer', 'Tokens of the completion, in old versions.', { default: null }],
    [
      'precompute_ref_log_probs',
      'boolean',
      'Run the reference model once before training instead of keeping it on the GPU.',
      { default: false, sets: 'method.precomputedReference' },
    ],
    [
      'reference_free',
      'boolean',
      'Use no reference model.',
      { default: false, fields: ['method.referenceModel'] },
    ],
    [
      'use_liger_loss',
      'boolean',
      'Loss of Liger, fused with the head.',
      { default: false, fields: ['loss.implementation', 'kernels.liger'] },
    ],
    ['use_logits_to_keep', 'boolean', 'Compute logits of the completion only.', { default: false }],
  ]),
  ...releasedBlock('', GRPO, RELEASED, [
    ['num_generations', 'Completions per prompt.'],
    [
      'generation_batch_size',
      'Completions generated at a time over all GPUs.',
      { fields: ['rollout.batch'] },
    ],
    [
      'local_rollout_forward_batch_size',
      'Completions that PPO generates and scores at a time on a GPU.',
      { type: 'integer', default: 64, fields: ['rollout.batch'] },
    ],
    [
      'num_mini_batches',
      'Parts that PPO takes the sequences of an update in.',
      { type: 'integer', default: 1, fields: ['loss.keptLogits'] },
    ],
    [
      'response_length',
      'Longest completion of PPO.',
      { type: 'integer', default: 53, sets: 'rollout.completion' },
    ],
    [
      'steps_per_generation',
      'Micro batches trained on per generation.',
      { fields: ['rollout.steps', 'method.scoringForwards'] },
    ],
    [
      'num_iterations',
      'How often a rollout is trained on.',
      { type: 'integer', default: 1, fields: ['method.scoringForwards'] },
    ],
    [
      'vllm_importance_sampling_correction',
      'Corrects for what vLLM sampled otherwise than the model scores it.',
      { type: 'boolean', default: true, fields: ['method.scoringForwards'] },
    ],
    ['use_vllm', 'Generate with vLLM.', { fields: ['rollout.engine'] }],
    [
      'vllm_mode',
      'vLLM on the same GPUs (`colocate`) or on others (`server`).',
      {
        values: ['colocate', 'server'],
        defaults: { of: 'version.trl', before: 'server', since: '1.0', after: 'colocate' },
        fields: ['rollout.engine'],
      },
    ],
    [
      'vllm_gpu_memory_utilization',
      'Share of the GPU that vLLM takes for itself when it runs beside the trainer.',
      { sets: 'hardware.reservedFraction', assumes: `${SOURCE}grpo_config.py` },
    ],
    [
      'vllm_enable_sleep_mode',
      'vLLM gives its memory back while the model trains.',
      { sets: 'rollout.sleep', assumes: `${SOURCE}grpo_config.py` },
    ],
    [
      'vllm_tensor_parallel_size',
      'Tensor-parallel size of vLLM.',
      { type: 'integer', default: 1, sets: 'rollout.tensor' },
    ],
    [
      'beta',
      'Weight of the divergence from the reference model; 0 needs none (GRPO). In distillation 0 is the forward KL divergence, 1 the reverse one.',
      { fields: ['method.referenceModel', 'method.scoringForwards', 'loss.divergence'] },
    ],
    [
      'teacher_model_name_or_path',
      'Teacher of distillation.',
      {
        type: 'string',
        default: null,
        fields: ['method.frozenParameters', 'method.frozenModels', 'method.teacher'],
      },
    ],
    [
      'lmbda',
      'Share of the batches that GKD trains on completions of the model itself; 0: none.',
      { type: 'number', default: 0.5, fields: ['rollout.engine'] },
    ],
    [
      'seq_kd',
      'The teacher writes the completions of GKD.',
      { type: 'boolean', default: false, fields: ['rollout.engine'] },
    ],
    [
      'max_new_tokens',
      'Longest completion that GKD generates.',
      { type: 'integer', default: 128, sets: 'rollout.completion' },
    ],
    [
      'reward_model_name_or_path',
      'Reward models of PPO and GRPO, which stand frozen beside the policy.',
      { type: 'any', default: null, fields: ['method.frozenParameters', 'method.frozenModels'] },
    ],
    [
      'reward_model_path',
      'Reward models of PPO and GRPO, which stand frozen beside the policy.',
      { type: 'string', default: null, fields: ['method.frozenParameters', 'method.frozenModels'] },
    ],
  ]),
];

const rest = inertKeys(
  '',
  CLIS,
  'Setting of TRL that costs no GPU memory.',
  {
    released: `dataset_kwargs model_init_kwargs generation_kwargs chat_template_kwargs pad_to_multiple_of
    dataset_text_field chat_template_path eos_token pad_token truncation_mode f_divergence_type
    importance_sampling_level model_adapter_name ref_adapter_name vllm_server_base_url vllm_server_host
    vllm_model_impl vllm_device cache_implementation dataset_num_proc ref_model_sync_steps
    precompute_ref_batch_size label_pad_token_id padding_value top_k vllm_server_port vllm_group_port
    vllm_max_model_length max_tool_calling_iterations num_completions_to_print num_generations_eval epsilon
    epsilon_high delta f_alpha_divergence_coef label_smoothing rpo_alpha ld_alpha discopop_tau
    ref_model_mixup_alpha temperature top_p min_p repetition_penalty top_entropy_quantile
    desirable_weight undesirable_weight vllm_server_timeout vllm_importance_sampling_cap trust_remote_code
    assistant_only_loss completion_only_loss disable_dropout force_use_ref_model use_weighting sync_ref_model
    generate_during_eval ds3_gather_for_generation shuffle_dataset mask_truncated_completions log_completions
    wandb_log_unique_prompts use_transformers_paged cast_lm_head_to_fp32
    use_bias_correction_kl`,
    any: `dataset_mixture dataset_mixer datasets ref_model_init_kwargs loss_weights reward_funcs reward_weights tools
    env scale_rewards model_revision hf_metadata_dataset benchmarks callbacks dataset_configs dataset_splits`,
    string: `dataset_name dataset_config dataset_train_split dataset_test_split dataset_prompt_column chat_template
    system_prompt hub_model_revision wandb_entity wandb_project tokenizer_name_or_path`,
    integer: `preprocessing_num_workers`,
    number: `cpo_alpha simpo_gamma gamma_beta_ratio`,
    boolean: `dataset_streaming ignore_bias_buffers auto_insert_empty_system_msg add_bos`,
  },
  RELEASED,
);

/** Arguments of `ModelConfig` that `from_pretrained` has, too, and what those of `BitsAndBytesConfig` are called there. */
const INIT: Readonly<Record<string, string>> = {
  torch_dtype: 'torch_dtype',
  attn_implementation: 'attn_implementation',
  load_in_4bit: 'quantization_config.load_in_4bit',
  load_in_8bit: 'quantization_config.load_in_8bit',
  bnb_4bit_quant_type: 'quantization_config.bnb_4bit_quant_type',
  bnb_4bit_quant_storage: 'quantization_config.bnb_4bit_quant_storage',
  use_bnb_nested_quant: 'quantization_config.bnb_4bit_use_double_quant',
};
const INIT_KEYS = MODEL_ARGUMENTS_KEYS.flatMap((row): KeySpec[] => {
  const path = INIT[row.path];
  return path === undefined
    ? []
    : [movedRow(`model_init_kwargs.${path}`, row, { alias: undefined, deprecated: undefined })];
});

/** TRL recipes: `TrainingArguments`, `ModelConfig` and the configs of its trainers in one flat file. */
export const TRL_KEYS: readonly KeySpec[] = [
  ...lengths,
  ...block('', CLIS, [
    [
      'accelerate_config',
      'string',
      "How `trl` launches: one of TRL's own configs of Accelerate by its name, such as `zero3`, or a file.",
      { fields: ['parallel.data', 'zero.stage'] },
    ],
  ]),
  ...MODEL_ARGUMENTS_KEYS,
  ...TRAINING_ARGUMENTS_KEYS,
  ...rest,
  ...INIT_KEYS,
];

export const TRL_TABLE = new KeyTable(TRL_KEYS, 'TRL', RELEASED);
