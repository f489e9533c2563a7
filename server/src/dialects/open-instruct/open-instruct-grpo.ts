import type { MapNode } from '../../config/node';
import { flagOf, integerOf, switchOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { KeySpec, ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { block } from '../key-rows';
import { KeyTable } from '../key-table';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { MODEL_ROW, OPEN_INSTRUCT_SOURCE, openInstructInertKeys, ownDefault } from './open-instruct-keys';

const FAST = `${OPEN_INSTRUCT_SOURCE}grpo_fast.py`;
const DATA = `${OPEN_INSTRUCT_SOURCE}data_loader.py`;
const CONFIG = `${OPEN_INSTRUCT_SOURCE}grpo_utils.py`;

const own = <V>(value: V, source = CONFIG, note?: string) => ownDefault(value, source, note);

export const OPEN_INSTRUCT_GRPO_KEYS: readonly KeySpec[] = [
  ...block('', CONFIG, [
    MODEL_ROW,
    [
      'per_device_train_batch_size',
      'integer',
      'Packed rows per GPU and forward pass.',
      { default: 1, sets: 'batch.micro', assumes: FAST },
    ],
    [
      'pack_length',
      'integer',
      'Tokens of a packed row: prompts with their responses are joined up to it.',
      { default: 512, sets: 'batch.sequence', assumes: DATA },
    ],
    [
      'response_length',
      'integer',
      'Longest response.',
      { default: 256, sets: 'rollout.completion', assumes: DATA, fields: ['batch.accumulation'] },
    ],
    [
      'max_prompt_token_length',
      'integer',
      'Longest prompt; longer ones are left out.',
      { default: 256, fields: ['batch.accumulation'] },
    ],
    [
      'num_unique_prompts_rollout',
      'integer',
      'Prompts of one training step.',
      { default: 16, fields: ['batch.accumulation'] },
    ],
    [
      'num_samples_per_prompt_rollout',
      'integer',
      'Responses to each prompt.',
      { default: 4, fields: ['batch.accumulation'] },
    ],
    [
      'num_mini_batches',
      'integer',
      'Optimizer steps that the rows of one training step are divided among.',
      { default: 1, fields: ['batch.accumulation'] },
    ],
    [
      'num_learners_per_node',
      'any',
      'GPUs that train on each node, those of vLLM apart.',
      { fields: ['hardware.gpus', 'hardware.nodes'] },
    ],
    [
      'single_gpu_mode',
      'boolean',
      'vLLM generates on the GPU that trains.',
      { default: false, fields: ['rollout.engine'] },
    ],
    [
      'vllm_gpu_memory_utilization',
      'number',
      'Share of the GPU that vLLM takes.',
      { default: 0.9, sets: 'hardware.reservedFraction', assumes: CONFIG },
    ],
    [
      'vllm_num_engines',
      'integer',
      'vLLM engines; they have GPUs of their own.',
      { default: 1, fields: ['rollout.engine'] },
    ],
    [
      'deepspeed_stage',
      'integer',
      'ZeRO stage.',
      { values: [0, 1, 2, 3], default: 0, sets: 'zero.stage', assumes: CONFIG },
    ],
    [
      'deepspeed_zpg',
      'integer',
      'GPUs that keep a second copy of the weights together (ZeRO++ hpZ); counts at stage 3.',
      { default: 8, sets: 'zero.hpzPartition', assumes: CONFIG },
    ],
    [
      'deepspeed_offload_param',
      'boolean',
      'Keep the weights in host memory.',
      { default: false, sets: 'offload.parameters', assumes: CONFIG, spellings: { cpu: true, none: false } },
    ],
    [
      'deepspeed_offload_optimizer',
      'boolean',
      'Keep the optimizer in host memory.',
      { default: false, sets: 'offload.optimizer', assumes: CONFIG, spellings: { cpu: true, none: false } },
    ],
    [
      'sequence_parallel_size',
      'integer',
      'GPUs that a sequence is divided among (Ulysses).',
      { default: 1, sets: 'parallel.ulysses', assumes: CONFIG },
    ],
    [
      'load_ref_policy',
      'boolean',
      'Keep the frozen reference for the KL penalty.',
      { default: true, sets: 'method.referenceModel', assumes: CONFIG },
    ],
    ['beta', 'number', 'Weight of the KL penalty.', { default: 0.05 }],
    ['fused_optimizer', 'boolean', 'Fused AdamW.', { default: true, fields: ['optimizer.implementation'] }],
    [
      'attn_implementation',
      'string',
      'Attention kernel.',
      { default: null, fields: ['attention.implementation'] },
    ],
  ]),
  ...openInstructInertKeys(CONFIG, {
    any: `dataset_mixer_list dataset_mixer_eval_list dataset_mixer_list_splits dataset_mixer_eval_list_splits dataset_transform_fn
      oe_eval_tasks tools tool_configs stop_strings system_prompt_override_file`,
    string: `model_revision tokenizer_name_or_path output_dir exp_name run_name chat_template_name ground_truths_key
      lr_scheduler_type vllm_sync_backend hf_entity hf_repo_id checkpoint_state_dir`,
    integer: `total_episodes seed num_epochs save_freq local_eval_every checkpoint_state_freq async_steps vllm_tensor_parallel_size
      kl_estimator backend_timeout eval_pass_at_k max_steps`,
    number: `learning_rate weight_decay warmup_ratio temperature clip_lower clip_higher max_grad_norm alpha vllm_top_p
      verification_reward non_stop_penalty_value`,
    boolean: `gradient_checkpointing with_tracking push_to_hub try_launch_beaker_eval_jobs_on_weka vllm_enforce_eager
      vllm_enable_prefix_caching gather_whole_model apply_verifiable_reward active_sampling inflight_updates
      mask_truncated_completions record_entropy save_traces`,
  }),
];
export const OPEN_INSTRUCT_GRPO_TABLE = new KeyTable(OPEN_INSTRUCT_GRPO_KEYS, 'open-instruct');

/** What `grpo_fast.py` trains: packed rows under DeepSpeed, each layer recomputed, vLLM beside it. */
export function readOpenInstructGrpo(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'open-instruct', say('arguments of open-instruct'));
  section.take('model_name_or_path');
  section.assume('method.objective', own('grpo' as const, FAST));
  section.assume('method.kind', own('full' as const, FAST));
  readBatch(section, context, draft);
  readGpus(section);
  readZero(section, context);
  section.assume('activations.checkpointing', own('full' as const, FAST));
  section.stateMeaning('attention.implementation', 'attn_implementation', ({ node }) =>
    node.kind !== 'scalar'
      ? undefined
      : ({ flash_2: 'flash2', flash_3: 'flash3', torch: 'sdpa' } as const)[node.text],
  );
  section.assume('attention.implementation', own('flash2' as const, `${OPEN_INSTRUCT_SOURCE}model_utils.py`));
  // All logits are divided by the temperature; what follows is compiled (`forward_for_logprobs`).
  section.assume('loss.implementation', own('log-probabilities' as const, CONFIG));
  section.take('load_ref_policy');
}

/** How many packed rows a GPU gets for a step follows from the longest prompts and responses; shorter ones give fewer. */
function readBatch(section: Section, { known }: ReadContext, draft: Draft): void {
  section.take('per_device_train_batch_size', 'pack_length');
  section.assume('batch.packed', own(true, `${OPEN_INSTRUCT_SOURCE}rl_utils.py`));
  section.take('response_length');
  const number = (key: string) => section.integerOrDefault(key);
  const samples = number('num_unique_prompts_rollout') * number('num_samples_per_prompt_rollout');
  const longest = number('max_prompt_token_length') + number('response_length');
  const row = number('pack_length');
  const replicas = Math.max(1, Number(known['hardware.gpus'] ?? 1) / number('sequence_parallel_size'));
  const rows = Math.ceil(samples / Math.max(1, Math.floor(row / longest)) / replicas);
  const steps = Math.max(
    1,
    Math.ceil(rows / number('num_mini_batches') / number('per_device_train_batch_size')),
  );
  const because = section.find(['num_unique_prompts_rollout', 'pack_length']);
  draft.infer(
    'batch.accumulation',
    steps,
    say('packed rows of one training step, were every sample of the greatest length'),
    because?.node,
    because?.key,
  );
}

function readGpus(section: Section): void {
  const learners = section.find('num_learners_per_node');
  const nodes = learners?.node.kind === 'list' ? learners.node.items : learners ? [learners.node] : [];
  const counts = nodes.map(integerOf).filter((count) => count !== undefined);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (learners && counts.length === nodes.length && total > 0) {
    section.state('hardware.gpus', total, learners, say('GPUs that train, those of generation left out'));
    section.state('hardware.nodes', counts.length, learners);
  } else section.assume('hardware.gpus', own(1));
  const one = section.find('single_gpu_mode');
  if (one && flagOf(one.node) === true) {
    section.state('rollout.engine', 'vllm-colocate', one);
    section.take('vllm_gpu_memory_utilization');
  } else section.assume('rollout.engine', own('vllm-server' as const, FAST, say('vLLM has GPUs of its own')));
}

/** `get_train_ds_config` of `utils.py`: bf16 with fp32 masters, gradients added up in fp32, PyTorch's AdamW. */
function readZero(section: Section, { known }: ReadContext): void {
  const utils = `${OPEN_INSTRUCT_SOURCE}utils.py`;
  section.assume('parallel.data', own('zero' as const, utils));
  section.take('deepspeed_stage');
  // Second copies in groups of eight need that many GPUs.
  if (section.has('deepspeed_zpg') || Number(known['hardware.gpus'] ?? 0) % 8 === 0)
    section.take('deepspeed_zpg');
  section.take('sequence_parallel_size', 'deepspeed_offload_param', 'deepspeed_offload_optimizer');
  for (const field of ['precision.weights', 'precision.compute'] as const)
    section.assume(field, own('bf16' as const, FAST));
  section.assume('precision.scheme', own('deepspeed' as const, utils));
  section.assume('precision.gradientAccumulation', own('fp32' as const, utils));
  section.assume('optimizer.name', own('adamw' as const, FAST));
  section.stateMeaning(
    'optimizer.implementation',
    'fused_optimizer',
    ({ node }) => switchOf(node, 'fused' as const, 'foreach' as const),
    own('fused' as const, `${OPEN_INSTRUCT_SOURCE}olmo_core_utils.py`),
  );
}

/** What `grpo_fast.py` refuses (`grpo_utils.py` and `data_loader.py`, `__post_init__`). */
export function checkOpenInstructGrpo(root: MapNode, section: Section, draft: Draft): void {
  checkKeys(root, OPEN_INSTRUCT_GRPO_TABLE, scriptPolicy('open-instruct'), draft);
  const at = (key: string) => section.find(key)?.node;
  const row = section.integerOrDefault('pack_length');
  const longest =
    section.integerOrDefault('max_prompt_token_length') + section.integerOrDefault('response_length');
  forbid(row < longest, at('pack_length') ?? at('response_length'), draft, {
    code: 'pack-too-short',
    message: say(
      'A packed row of {0} tokens holds no prompt with its response: that takes {1}.',
      String(row),
      String(longest),
    ),
    source: `${OPEN_INSTRUCT_SOURCE}data_loader.py`,
  });
  forbid(
    section.integerOrDefault('sequence_parallel_size') > 1 && section.integer('deepspeed_stage') !== 3,
    at('sequence_parallel_size'),
    draft,
    {
      code: 'sequence-parallel-stage',
      message: say('`sequence_parallel_size` needs ZeRO stage 3: set `deepspeed_stage` to 3.'),
      source: CONFIG,
    },
  );
  forbid(
    section.flag('load_ref_policy') === false && section.numberOrDefault('beta') !== 0,
    at('load_ref_policy'),
    draft,
    {
      code: 'penalty-without-reference',
      message: say('Without the reference there is no KL penalty: set `beta` to 0.'),
      source: CONFIG,
    },
  );
}
