import { entryOf } from '../../config/lookup';
import { flagOf, switchOf, textOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { KeySpec } from '../dialect';
import type { Draft } from '../draft';
import { trainerWords } from '../hf/hf-words';
import { assumePadding } from '../hf/padding';
import { block, type Row } from '../key-rows';
import { KeyTable } from '../key-table';
import type { Launch } from '../launch/launch';
import type { Program } from '../launch/program';
import { type DefaultValue, Section } from '../section';
import { DEEPSPEED_EXAMPLES } from './deepspeed-chat-repository';

const SOURCE = fileIn(DEEPSPEED_EXAMPLES, 'applications/DeepSpeed-Chat/');

const MAIN = `${SOURCE}training/step1_supervised_finetuning/main.py`;

/** The same argument of the single model and of the actor of step 3. */
const both = (name: string, ...rest: [Row[1], string, Row[3]?]): Row[] => [
  [name, ...rest],
  [`actor_${name}`, ...rest],
];

const KEYS: readonly KeySpec[] = block('', MAIN, [
  ...both('model_name_or_path', 'string', 'Model on the Hub, or a folder.', { sets: 'model.id' }),
  [
    'per_device_train_batch_size',
    'integer',
    'Samples per GPU and forward pass.',
    { default: 16, sets: 'batch.micro', assumes: MAIN },
  ],
  [
    'per_device_training_batch_size',
    'integer',
    'Samples per GPU and forward pass.',
    { default: 16, sets: 'batch.micro', alias: 'per_device_train_batch_size' },
  ],
  [
    'per_device_generation_batch_size',
    'integer',
    'Sequences per GPU that are generated at a time.',
    { default: 16, sets: 'rollout.batch', assumes: MAIN },
  ],
  [
    'per_device_mini_train_batch_size',
    'integer',
    'Old name of the micro batch of step 3.',
    { default: 16, sets: 'batch.micro', alias: 'per_device_train_batch_size' },
  ],
  [
    'gradient_accumulation_steps',
    'integer',
    'Micro batches per optimizer step.',
    { default: 1, sets: 'batch.accumulation', assumes: MAIN },
  ],
  [
    'max_seq_len',
    'integer',
    'Tokens per sample, padded to it.',
    { default: 512, sets: 'batch.sequence', assumes: MAIN },
  ],
  ['max_prompt_seq_len', 'integer', 'Tokens of the prompt.', { default: 256, fields: ['batch.sequence'] }],
  [
    'max_answer_seq_len',
    'integer',
    'Tokens of the answer.',
    {
      default: 256,
      sets: 'rollout.completion',
      fields: ['batch.sequence', 'rollout.completion'],
      assumes: MAIN,
    },
  ],
  ...both('zero_stage', 'integer', 'ZeRO stage.', { default: 0, sets: 'zero.stage', assumes: MAIN }),
  [
    'offload',
    'boolean',
    'Weights and optimizer states in host memory.',
    { default: false, fields: ['offload.optimizer', 'offload.parameters'] },
  ],
  [
    'offload_reference_model',
    'boolean',
    'The reference in host memory.',
    { default: false, fields: ['method.referenceModel'] },
  ],
  [
    'dtype',
    'string',
    'Type of weights and computation.',
    { values: ['fp16', 'bf16'], default: 'fp16', fields: ['precision.weights', 'precision.compute'] },
  ],
  ...both('gradient_checkpointing', 'boolean', 'Activation checkpointing.', {
    default: false,
    fields: ['activations.checkpointing'],
  }),
  ...both('lora_dim', 'integer', 'Rank of the LoRA matrices; 0 is none.', {
    default: 0,
    fields: ['lora.rank', 'method.kind'],
  }),
  [
    'only_optimize_lora',
    'boolean',
    'Train the adapters alone; else all but the weights that they adapt is trained too.',
    { default: false, fields: ['lora.trainsRest'] },
  ],
  ...both('lora_module_name', 'string', 'Part of the paths of the linear layers that get a LoRA.', {
    default: 'decoder.layers.',
    fields: ['lora.targetPattern'],
  }),
  ['enable_hybrid_engine', 'boolean', 'Generate by the kernels of DeepSpeed inference.', { default: false }],
  [
    'inference_tp_size',
    'integer',
    'GPUs that share the weights while the hybrid engine generates.',
    { default: 1, sets: 'rollout.tensor' },
  ],
  ['deepspeed', 'boolean', 'Train with DeepSpeed.'],
]);

const TABLE = new KeyTable(KEYS, 'DeepSpeed-Chat');

type Step = 'sft' | 'reward' | 'dpo' | 'ppo';

/** `main.py` of DeepSpeed-Chat, whose arguments tell its steps apart. */
function stepOf(launch: Launch): Step | undefined {
  const script = launch.script ?? '';
  const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
  if (!/(^|\/)main\.py$/.test(script)) return undefined;
  if (has('actor_model_name_or_path')) return 'ppo';
  const own = has('data_path') || has('max_seq_len') || has('zero_stage') || has('data_output_path');
  if (!own || !has('model_name_or_path') || has('config')) return undefined;
  return has('num_padding_at_beginning') ? 'reward' : has('beta') ? 'dpo' : 'sft';
}

/** DeepSpeed-Chat: a training loop of its own on DeepSpeed, with a config that it makes of its arguments. */
export const deepspeedChatProgram: Program = {
  name: 'DeepSpeed-Chat',
  refusesOthers: true,
  keys: KEYS,
  words: trainerWords,
  match: (launch) => (stepOf(launch) ? 0.9 : 0),
  read(launch, draft) {
    const step = stepOf(launch);
    if (step) readStep(new Section(launch.arguments, draft, `${launch.path}.arguments`, TABLE), step, draft);
  },
};

function readStep(section: Section, step: Step, draft: Draft): void {
  const own = <V>(value: V, note = say('{0} default', 'DeepSpeed-Chat')): DefaultValue<V> => ({
    value,
    note,
    source: MAIN,
  });
  draft.assume('framework', 'deepspeed-chat', say('the script starts {0}', 'DeepSpeed-Chat'));
  section.take('actor_model_name_or_path', 'model_name_or_path');
  const micro = [
    'per_device_train_batch_size',
    'per_device_training_batch_size',
    'per_device_mini_train_batch_size',
  ];
  section.take('per_device_train_batch_size', 'gradient_accumulation_steps');
  readLength(section, step, own);
  const stage = ['actor_zero_stage', 'zero_stage'] as const;
  section.takeFirst(...stage);
  section.assume('parallel.data', own('zero' as const, say('DeepSpeed-Chat trains with DeepSpeed')));
  const source = `${SOURCE}dschat/utils/ds_utils.py`;
  draft.assume('zero.persistenceThreshold', 10_000, say('its generated config'), source);
  draft.assume('zero.maxLiveParameters', 30_000_000, say('its generated config'), source);
  draft.assume('zero.prefetchBucket', 30_000_000, say('its generated config'), source);
  const offload = section.find('offload');
  const away = offload && flagOf(offload.node) === true;
  if (away) {
    section.state('offload.optimizer', 'cpu', offload);
    if (section.integerOrDefault(stage) === 3) section.state('offload.parameters', 'cpu', offload);
  }
  const dtype = section.find('dtype');
  const type = textOf(dtype?.node) === 'bf16' ? 'bf16' : 'fp16';
  for (const field of ['precision.weights', 'precision.compute'] as const) {
    if (dtype) section.state(field, type, dtype);
    else section.assume(field, own('fp16' as const), 'dtype');
  }
  section.assume('precision.scheme', own('deepspeed' as const, say('DeepSpeed keeps fp32 masters')));
  section.assume('optimizer.name', own('adamw' as const, say("DeepSpeed's fused Adam")));
  section.assume('optimizer.implementation', own('fused' as const, say("DeepSpeed's fused Adam")));
  section.stateMeaning(
    'activations.checkpointing',
    ['actor_gradient_checkpointing', 'gradient_checkpointing'],
    ({ node }) => switchOf(node, 'full' as const, 'none' as const),
    own('none' as const),
  );
  readAdapter(section, own);
  const objective = { sft: 'lm', reward: 'reward', dpo: 'dpo', ppo: 'ppo' } as const;
  section.assume('method.objective', own(objective[step], say('its arguments tell the step')));
  if (step === 'dpo' || step === 'ppo') {
    const elsewhere = section.find('offload_reference_model');
    const host = elsewhere && flagOf(elsewhere.node) === true;
    if (host) section.state('method.referenceModel', false, elsewhere, say('it lies in host memory'));
    else
      section.assume('method.referenceModel', own(true, say('a frozen copy of the model is the reference')));
  }
  assumePadding(section, draft, section.integerOrDefault(micro));
}

function readLength(
  section: Section,
  step: Step,
  own: <V>(value: V, note?: string) => DefaultValue<V>,
): void {
  if (step !== 'ppo') {
    section.take('max_seq_len');
    return;
  }
  const [prompt, answer] = [section.find('max_prompt_seq_len'), section.find('max_answer_seq_len')];
  const [a, b] = [
    section.integerOrDefault('max_prompt_seq_len'),
    section.integerOrDefault('max_answer_seq_len'),
  ];
  const found = answer ?? prompt;
  const note = say('prompt of {0} and answer of {1} tokens', String(a), String(b));
  if (found) section.state('batch.sequence', a + b, found, note);
  else section.assume('batch.sequence', own(a + b, note));
  section.take('max_answer_seq_len', 'per_device_generation_batch_size');
  section.assume('rollout.engine', own('transformers' as const));
  if (section.flag('enable_hybrid_engine') === true) section.take('inference_tp_size');
}

function readAdapter(section: Section, own: <V>(value: V, note?: string) => DefaultValue<V>): void {
  const rank = section.find(['actor_lora_dim', 'lora_dim']);
  const size = section.integerOrDefault(['actor_lora_dim', 'lora_dim']);
  if (!rank || size <= 0) {
    section.assume('method.kind', own('full' as const), 'lora_dim');
    return;
  }
  section.state('method.kind', 'lora', rank);
  section.state('lora.rank', size, rank);
  // `lora_scaling = 1`, divided by the rank (`LinearLayer_LoRA`).
  section.assume('lora.alpha', own(1), 'lora_dim');
  const names = ['actor_lora_module_name', 'lora_module_name'];
  const name = section.find(names);
  const pattern = `.*${section.textOrDefault(names).replace(/[^\w]/g, '\\$&')}.*`;
  if (name) section.state('lora.targetPattern', pattern, name);
  else section.assume('lora.targetPattern', own(pattern), 'lora_module_name');
  // `LinearLayer_LoRA` freezes the weight that it wraps, nothing else does.
  const alone = section.find('only_optimize_lora');
  const source = `${SOURCE}dschat/utils/module/lora.py`;
  if (alone && flagOf(alone.node) === true) section.state('lora.trainsRest', false, alone);
  else
    section.assume('lora.trainsRest', {
      value: true,
      note: say('only the weights that get a LoRA are frozen'),
      source,
    });
  const type = section.text('dtype') === 'bf16' ? ('bf16' as const) : ('fp16' as const);
  section.assume('lora.dtype', { value: type, note: say('the type of the weight that it adapts'), source });
}
