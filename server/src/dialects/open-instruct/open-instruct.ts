import RELEASES from '../../../data/framework-keys/open-instruct.jsonl' with { type: 'text' };
import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { launchQuestions } from '../hf/launch-question';
import { assumePadding } from '../hf/padding';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, rejectMisfits } from '../key-check';
import { block } from '../key-rows';
import { KeyTable } from '../key-table';
import { ROUTER_LOGITS } from '../router-weight';
import { Section } from '../section';
import { MODEL_ROW, OPEN_INSTRUCT_SOURCE, openInstructInertKeys, ownDefault } from './open-instruct-keys';
import { openInstructWords } from './open-instruct-words';

const SOURCE = `${OPEN_INSTRUCT_SOURCE}finetune.py`;

const own = <V>(value: V) => ownDefault(value, SOURCE);

export const OPEN_INSTRUCT_KEYS: readonly KeySpec[] = [
  ...block('', SOURCE, [
    MODEL_ROW,
    [
      'per_device_train_batch_size',
      'integer',
      'Samples per GPU and forward pass.',
      { default: 8, sets: 'batch.micro', assumes: SOURCE },
    ],
    [
      'gradient_accumulation_steps',
      'integer',
      'Forward and backward passes per optimizer step.',
      { default: 1, sets: 'batch.accumulation', assumes: SOURCE },
    ],
    [
      'max_seq_length',
      'integer',
      'Tokens per sample; longer ones are cut.',
      { default: null, sets: 'batch.sequence' },
    ],
    [
      'gradient_checkpointing',
      'boolean',
      'Keep the input of each layer only, and compute the rest again in backward.',
      {
        default: false,
        sets: 'activations.checkpointing',
        assumes: SOURCE,
        spellings: { full: true, none: false },
      },
    ],
    [
      'use_flash_attn',
      'boolean',
      'FlashAttention 2; without it eager attention.',
      {
        default: true,
        sets: 'attention.implementation',
        assumes: SOURCE,
        spellings: { flash2: true, eager: false },
      },
    ],
    ['use_lora', 'boolean', 'Train LoRA adapters.', { default: false, fields: ['method.kind'] }],
    [
      'use_qlora',
      'boolean',
      'LoRA over a base in 4 bits.',
      { default: false, fields: ['quantization.kind'] },
    ],
    [
      'lora_rank',
      'integer',
      'Rank of the LoRA matrices.',
      { default: 64, sets: 'lora.rank', assumes: SOURCE },
    ],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 16, sets: 'lora.alpha', assumes: SOURCE },
    ],
    [
      'lora_dropout',
      'number',
      'Dropout on the adapter input.',
      { default: 0.1, sets: 'lora.dropout', assumes: SOURCE },
    ],
    ['use_8bit_optimizer', 'boolean', '8-bit AdamW.', { default: false, fields: ['optimizer.name'] }],
    [
      'packing',
      'boolean',
      'Join the samples of a batch into one row, without padding.',
      { default: false, sets: 'batch.packed', assumes: SOURCE },
    ],
    [
      'use_liger_kernel',
      'boolean',
      'Liger kernels.',
      { default: false, sets: 'kernels.liger', assumes: SOURCE },
    ],
    [
      'dpo_loss_type',
      'string',
      'Preference loss.',
      { default: 'dpo', fields: ['method.objective', 'method.precomputedReference'] },
    ],
    ['load_balancing_loss', 'boolean', ROUTER_LOGITS, { default: false, sets: 'loss.routerLogits' }],
    [
      'max_train_steps',
      'integer',
      'Optimizer steps of the whole run.',
      { default: null, sets: 'schedule.steps' },
    ],
  ]),
  ...openInstructInertKeys(SOURCE, {
    any: 'dataset_mixer dataset_mixer_list report_to checkpointing_steps chat_template dataset_mixer_list_splits',
    string: `model_revision tokenizer_name tokenizer_revision dataset_name dataset_mix_dir train_file output_dir
      lr_scheduler_type run_name exp_name wandb_entity hf_entity hf_repo_id hf_metadata_dataset resume_from_checkpoint`,
    integer: `preprocessing_num_workers num_train_epochs num_epochs logging_steps seed keep_last_n_checkpoints
      max_train_samples timeout`,
    number: `learning_rate weight_decay warmup_ratio clip_grad_norm dpo_beta dpo_gamma_beta_ratio dpo_label_smoothing
      load_balancing_weight`,
    boolean: `use_slow_tokenizer with_tracking add_bos overwrite_output_dir overwrite_cache push_to_hub
      fused_optimizer reduce_loss try_launch_beaker_eval_jobs concatenated_forward
      low_cpu_mem_usage trust_remote_code clean_checkpoints_at_end`,
  }),
];
export const OPEN_INSTRUCT_TABLE = new KeyTable(
  OPEN_INSTRUCT_KEYS,
  'open-instruct',
  new ReleasedKeys([new FrameworkKeys(() => RELEASES), 'FlatArguments']),
);

/** Configs of open-instruct, whose training loop is its own: the names are the Trainer's, the defaults are not. */
export const openInstruct: Dialect = {
  id: 'open-instruct',
  name: 'open-instruct',
  definitions: [
    'open_instruct/finetune.py',
    'open_instruct/dpo_tune_cache.py',
    'open_instruct/grpo_fast.py',
    'open_instruct/utils.py',
  ],
  released: OPEN_INSTRUCT_TABLE.released,
  words: openInstructWords,
  keys: OPEN_INSTRUCT_KEYS,
  joins: { questions: launchQuestions },
  markers: /model_name_or_path/,
  detect(root: ConfigNode): number {
    const has = (key: string) => entryOf(root, key) !== undefined;
    if (root.kind !== 'map' || !has('model_name_or_path') || has('bf16') || has('torch_dtype')) return 0;
    const marks = [
      'use_slow_tokenizer',
      'with_tracking',
      'checkpointing_steps',
      'dataset_mix_dir',
      'use_flash_attn',
    ];
    return marks.filter(has).length >= 2 && has('per_device_train_batch_size') ? 0.9 : 0;
  },
  read,
};

function read(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document, context);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  readOpenInstruct(new Section(root, draft, '', OPEN_INSTRUCT_TABLE), draft, context);
  rejectMisfits(root, OPEN_INSTRUCT_TABLE, draft);
  draft.rules(() => checkKeys(root, OPEN_INSTRUCT_TABLE, scriptPolicy('open-instruct'), draft));
  return draft.reading();
}

/** States what the arguments say, from a file or from a command line. */
export function readOpenInstruct(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'open-instruct', say('arguments of open-instruct'));
  section.take('model_name_or_path', 'per_device_train_batch_size', 'gradient_accumulation_steps');
  section.take('max_seq_length', 'max_train_steps', 'gradient_checkpointing', 'use_flash_attn');
  section.take('packing', 'use_liger_kernel', 'load_balancing_loss');
  readMethod(section);
  readPrecision(draft, context);
  assumePadding(section, draft, section.integerOrDefault('per_device_train_batch_size'));
}

function readMethod(section: Section): void {
  const lora = section.find('use_lora');
  const quantized = section.find('use_qlora');
  const on = lora && flagOf(lora.node) === true;
  if (lora && on) section.state('method.kind', 'lora', lora);
  else section.assume('method.kind', own('full' as const), 'use_lora');
  if (on) section.take('lora_rank', 'lora_alpha', 'lora_dropout');
  if (quantized && flagOf(quantized.node) === true) section.state('quantization.kind', 'nf4', quantized);
  const eight = section.find('use_8bit_optimizer');
  if (eight && flagOf(eight.node) === true) section.state('optimizer.name', 'adamw-8bit', eight);
  else section.assume('optimizer.name', own('adamw' as const), 'use_8bit_optimizer');
  const preference = section.find(['dpo_loss_type', 'dpo_beta']);
  if (preference) {
    const simpo = section.text('dpo_loss_type') === 'simpo';
    const loss = section.find('dpo_loss_type');
    if (loss && !/^(dpo|dpo_norm|simpo|wpo)$/.test(section.textOrDefault('dpo_loss_type')))
      section.leave(loss, ['method.objective']);
    section.state('method.objective', simpo ? 'simpo' : 'dpo', preference);
    // Reference log-probabilities are computed before training (`dpo_tune_cache.py`).
    section.state('method.precomputedReference', true, preference);
  }
}

/** The model is loaded in bf16; the launcher's config states who shards it and how it computes. */
function readPrecision(draft: Draft, context: ReadContext): void {
  draft.assume('precision.weights', 'bf16', say('open-instruct loads the model in bf16'), SOURCE);
  const sharding = context.known['parallel.data'];
  if (sharding !== undefined && sharding !== 'ddp' && sharding !== 'none') return;
  draft.assume('precision.compute', 'bf16', say('its scripts launch with bf16 mixed precision'), SOURCE);
  draft.assume('precision.scheme', 'autocast', say('its scripts launch with bf16 mixed precision'), SOURCE);
}
