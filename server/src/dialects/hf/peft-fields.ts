import type { ConfigNode } from '../../config/node';
import type { FieldValue } from '../../run/fields';
import type { Range } from '../../text/place';
import type { Draft } from '../draft';

type Kind = FieldValue<'lora.kind'>;

/** A field of a PEFT config as it is given; `value` is undefined where it is none that the text has. */
export interface GivenField {
  readonly key: string;
  readonly value: unknown;
  readonly range: Range;
}

const LAYERS = ['exclude_modules', 'layers_to_transform'];
const PROMPT = ['num_virtual_tokens', 'encoder_hidden_size', 'prefix_projection'];

/**
 * Fields of the kinds that are read beside their rank, block size and dropout (`tuners/<kind>/config.py` of peft 0.21.2). The norms that
 * LN tuning trains are found without the names that it is given.
 */
const READ: Readonly<Record<Kind, readonly string[]>> = {
  lora: [
    ...LAYERS,
    'target_modules',
    'lora_alpha',
    'use_dora',
    'bias',
    'lora_bias',
    'rank_pattern',
    'target_parameters',
    'ensure_weight_tying',
    'trainable_token_indices',
  ],
  adalora: [...LAYERS, 'target_modules', 'lora_alpha', 'bias'],
  vera: ['target_modules', 'layers_to_transform', 'bias'],
  vblora: [...LAYERS, 'target_modules', 'bias', 'num_vectors', 'vector_length'],
  fourierft: [...LAYERS, 'target_modules', 'bias'],
  loha: [...LAYERS, 'target_modules', 'alpha'],
  lokr: [...LAYERS, 'target_modules', 'alpha'],
  oft: [...LAYERS, 'target_modules', 'bias'],
  boft: [...LAYERS, 'target_modules', 'bias'],
  miss: [...LAYERS, 'target_modules', 'bias'],
  ia3: ['target_modules', 'exclude_modules', 'feedforward_modules'],
  'ln-tuning': [],
  'prompt-tuning': PROMPT,
  'prefix-tuning': PROMPT,
  'p-tuning': PROMPT,
  'llama-adapter': [],
  'llama-adapter-v2': [],
};

/** Whether a field of a kind's config states something of the run. */
export const readsField = (kind: Kind, key: string): boolean => READ[kind].includes(key);

/** Fields whose values mean more than one run field, or another by their form: each is read apart. */
const READ_APART: ReadonlySet<string> = new Set([
  ...LAYERS,
  ...PROMPT,
  'target_modules',
  'feedforward_modules',
  'trainable_token_indices',
]);

/** Those whose row states a run field of its own, in the order in which they count. */
export const ownRows = (kind: Kind): readonly string[] => READ[kind].filter((key) => !READ_APART.has(key));

/** Of every kind: what names the config, and what is read of all. */
const OF_ALL = words(
  'peft_type task_type auto_mapping peft_version base_model_name_or_path revision modules_to_save fan_in_fan_out',
);

/** First values of weights, scales, seeds, and what counts only beside another field, which is left uncounted itself. */
const OF_LORA = words(
  'use_rslora alpha_pattern megatron_core qalora_group_size eva_config corda_config lora_ga_config loftq_config runtime_config',
);
const OF_PROMPTS = words(
  'prompt_tuning_init prompt_tuning_init_text tokenizer_name_or_path tokenizer_kwargs init_weights encoder_num_layers encoder_dropout',
);

/** Fields that change neither what is trained nor what is kept for it. */
const HARMLESS: Partial<Record<Kind, readonly string[]>> = {
  lora: OF_LORA,
  // Ranks that it takes away are masked: the matrices stay as they were made.
  adalora: [
    ...OF_LORA,
    'r',
    'tinit',
    'tfinal',
    'deltaT',
    'beta1',
    'beta2',
    'target_r',
    'total_step',
    'orth_reg_weight',
  ],
  vera: words('projection_prng_key save_projection d_initial init_weights'),
  vblora: words('save_only_topk_weights init_vector_bank_bound init_logits_std'),
  fourierft: words('scaling random_loc_seed init_weights'),
  loha: words('alpha_pattern module_dropout init_weights'),
  lokr: words('alpha_pattern module_dropout rank_dropout_scale init_weights'),
  oft: words('eps init_weights'),
  boft: words('init_weights'),
  miss: words('mini_r init_weights'),
  ia3: words('init_ia3_weights'),
  'prompt-tuning': OF_PROMPTS,
  'prefix-tuning': OF_PROMPTS,
  'p-tuning': OF_PROMPTS,
};

/**
 * Values under which a field changes nothing: its default, or others that make the same matrices (`tuners/lora/layer.py`). EVA moves
 * ranks between layers, MiCA trains one matrix of two, and CorDA and LoRA-GA take passes before the training.
 */
const SAME: Readonly<Partial<Record<string, RegExp>>> = {
  init_lora_weights: /^(true|false|null|[Gg]aussian|orthogonal|[Oo][Ll]o[Rr][Aa]|loftq|pissa.*)$/,
  encoder_reparameterization_type: /(^|\.)MLP$/,
  use_cayley_neumann: /^true$/,
  num_cayley_neumann_terms: /^5$/,
  bias: /^none$/,
  topk: /^2$/,
  boft_n_butterfly_factor: /^1$/,
};

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** Whether a value switches a field off. */
function isOff(value: unknown): boolean {
  if (value === null || value === false || value === 0) return true;
  if (typeof value !== 'object') return false;
  return Object.keys(value).length === 0;
}

/** Whether a field of a kind's config changes nothing of memory and counts, whoever reads it. */
export function isHarmless(kind: Kind, { key, value }: Omit<GivenField, 'range'>): boolean {
  if (OF_ALL.includes(key) || HARMLESS[kind]?.includes(key) === true) return true;
  return SAME[key]?.test(String(value)) ?? isOff(value);
}

/** What a field of a config changes is not counted: without it nobody knows what the run needs. */
export function leaveVariant(draft: Draft, node: { range: Range }, key: string): void {
  draft.leaveUncounted(node, key);
  draft.bring('adapter-variant', node, key);
}

/** What is not known to change nothing is not counted, those fields among it that a release brings after this was written. */
export function leaveOthers(
  draft: Draft,
  kind: Kind,
  also: readonly (string | undefined)[],
  given: readonly GivenField[],
): void {
  for (const field of given) {
    const isRead = also.includes(field.key) || readsField(kind, field.key);
    if (isRead || isHarmless(kind, field) || draft.hasLeft(field.range)) continue;
    leaveVariant(draft, field, field.key);
  }
}

/** A value of a file as far as it tells whether a field is switched off. */
export function givenContent(node: ConfigNode): unknown {
  if (node.kind === 'scalar') return node.value;
  return node.kind === 'map' ? node.entries.map(({ key }) => key) : node.items;
}
