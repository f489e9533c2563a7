import { entryOf } from '../config/lookup';
import type { ConfigDocument, ConfigNode } from '../config/node';
import { flagOf } from '../config/scalar';
import { say } from '../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from './dialect';
import { Draft } from './draft';
import { assumePadding } from './hf/padding';
import { scriptPolicy } from './hf/training-arguments-rules';
import { checkKeys } from './key-check';
import { block } from './key-rows';
import { KeyTable } from './key-table';
import { MODEL_ROW, OPEN_INSTRUCT, ownDefault, silentKeys } from './open-instruct-keys';
import { Section } from './section';

const SOURCE = `${OPEN_INSTRUCT}finetune.py`;

const own = <V>(value: V) => ownDefault(value, SOURCE);

export const OPEN_INSTRUCT_KEYS: readonly KeySpec[] = [
  ...block('', SOURCE, [
    MODEL_ROW,
    [
      'per_device_train_batch_size',
      'integer',
      'Samples per GPU and forward pass.',
      { default: 8, fields: ['batch.micro'] },
    ],
    [
      'gradient_accumulation_steps',
      'integer',
      'Forward and backward passes per optimizer step.',
      { default: 1, fields: ['batch.accumulation'] },
    ],
    [
      'max_seq_length',
      'integer',
      'Tokens per sample; longer ones are cut.',
      { default: null, fields: ['batch.sequence'] },
    ],
    [
      'gradient_checkpointing',
      'boolean',
      'Keep the input of each layer only, and compute the rest again in backward.',
      { default: false, fields: ['activations.checkpointing'] },
    ],
    [
      'use_flash_attn',
      'boolean',
      'FlashAttention 2; without it eager attention.',
      { default: true, fields: ['attention.implementation'] },
    ],
    ['use_lora', 'boolean', 'Train LoRA adapters.', { default: false, fields: ['method.kind'] }],
    [
      'use_qlora',
      'boolean',
      'LoRA over a base in 4 bits.',
      { default: false, fields: ['quantization.kind'] },
    ],
    ['lora_rank', 'integer', 'Rank of the LoRA matrices.', { default: 64, fields: ['lora.rank'] }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 16, fields: ['lora.alpha'] },
    ],
    ['lora_dropout', 'number', 'Dropout on the adapter input.', { default: 0.1, fields: ['lora.dropout'] }],
    ['use_8bit_optimizer', 'boolean', '8-bit AdamW.', { default: false, fields: ['optimizer.name'] }],
    [
      'packing',
      'boolean',
      'Join the samples of a batch into one row, without padding.',
      { default: false, fields: ['batch.packed'] },
    ],
    ['use_liger_kernel', 'boolean', 'Liger kernels.', { default: false, fields: ['kernels.liger'] }],
    [
      'dpo_loss_type',
      'string',
      'Preference loss.',
      { default: 'dpo', fields: ['method.objective', 'method.precomputedReference'] },
    ],
    [
      'max_train_steps',
      'integer',
      'Optimizer steps of the whole run.',
      { default: null, fields: ['schedule.steps'] },
    ],
  ]),
  ...silentKeys(SOURCE, {
    any: 'dataset_mixer dataset_mixer_list report_to checkpointing_steps chat_template dataset_mixer_list_splits',
    string: `model_revision tokenizer_name tokenizer_revision dataset_name dataset_mix_dir train_file output_dir
      lr_scheduler_type run_name exp_name wandb_entity hf_entity hf_repo_id hf_metadata_dataset resume_from_checkpoint`,
    integer: `preprocessing_num_workers num_train_epochs num_epochs logging_steps seed keep_last_n_checkpoints
      max_train_samples timeout`,
    number: `learning_rate weight_decay warmup_ratio clip_grad_norm dpo_beta dpo_gamma_beta_ratio dpo_label_smoothing
      load_balancing_weight`,
    boolean: `use_slow_tokenizer with_tracking add_bos overwrite_output_dir overwrite_cache push_to_hub
      load_balancing_loss fused_optimizer reduce_loss try_launch_beaker_eval_jobs concatenated_forward
      low_cpu_mem_usage trust_remote_code clean_checkpoints_at_end`,
  }),
];
const table = new KeyTable(OPEN_INSTRUCT_KEYS);

/** Configs of open-instruct, whose training loop is its own: the names are the Trainer's, the defaults are not. */
export const openInstruct: Dialect = {
  id: 'open-instruct',
  name: 'open-instruct',
  keys: OPEN_INSTRUCT_KEYS,
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
  const draft = new Draft(document);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  readOpenInstruct(new Section(root, draft), draft, context);
  checkKeys(root, table, scriptPolicy('open-instruct'), draft);
  return draft.reading();
}

/** States what the arguments say, from a file or from a command line. */
export function readOpenInstruct(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'open-instruct', say('arguments of open-instruct'));
  section.stateText('model.id', 'model_name_or_path');
  section.stateInteger('batch.micro', 'per_device_train_batch_size', own(8));
  section.stateInteger('batch.accumulation', 'gradient_accumulation_steps', own(1));
  section.stateInteger('batch.sequence', 'max_seq_length');
  section.stateInteger('schedule.steps', 'max_train_steps');
  section.stateMeaning(
    'activations.checkpointing',
    'gradient_checkpointing',
    ({ node }) => (flagOf(node) === true ? 'full' : flagOf(node) === false ? 'none' : undefined),
    own('none' as const),
  );
  section.stateMeaning(
    'attention.implementation',
    'use_flash_attn',
    ({ node }) => (flagOf(node) === true ? 'flash2' : flagOf(node) === false ? 'eager' : undefined),
    own('flash2' as const),
  );
  section.stateFlag('batch.packed', 'packing', own(false));
  section.stateFlag('kernels.liger', 'use_liger_kernel', own(false));
  readMethod(section);
  readPrecision(draft, context);
  assumePadding(section, draft, section.integer('per_device_train_batch_size') ?? 8);
}

function readMethod(section: Section): void {
  const lora = section.find('use_lora');
  const quantized = section.find('use_qlora');
  const on = lora && flagOf(lora.node) === true;
  if (lora && on) section.state('method.kind', 'lora', lora);
  else section.assume('method.kind', own('full' as const), 'use_lora');
  if (on) {
    section.stateInteger('lora.rank', 'lora_rank', own(64));
    section.stateNumber('lora.alpha', 'lora_alpha', own(16));
    section.stateNumber('lora.dropout', 'lora_dropout', own(0.1));
  }
  if (quantized && flagOf(quantized.node) === true) section.state('quantization.kind', 'nf4', quantized);
  const eight = section.find('use_8bit_optimizer');
  if (eight && flagOf(eight.node) === true) section.state('optimizer.name', 'adamw-8bit', eight);
  else section.assume('optimizer.name', own('adamw' as const), 'use_8bit_optimizer');
  const preference = section.find(['dpo_loss_type', 'dpo_beta']);
  if (preference) {
    const simpo = section.text('dpo_loss_type') === 'simpo';
    section.state('method.objective', simpo ? 'simpo' : 'dpo', preference);
    // Reference log-probabilities are computed before training (`dpo_tune_cache.py`).
    section.state('method.precomputedReference', true, preference);
  }
}

/** The model is loaded in bf16; the launcher's config says who shards it and how it computes. */
function readPrecision(draft: Draft, context: ReadContext): void {
  draft.assume('precision.weights', 'bf16', say('open-instruct loads the model in bf16'), SOURCE);
  const sharding = context.known['parallel.data'];
  if (sharding !== undefined && sharding !== 'ddp' && sharding !== 'none') return;
  draft.assume('precision.compute', 'bf16', say('its scripts launch with bf16 mixed precision'), SOURCE);
  draft.assume('precision.scheme', 'autocast', say('its scripts launch with bf16 mixed precision'), SOURCE);
}
