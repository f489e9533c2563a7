import type { ConfigNode } from '../../config/node';
import { isBlank, longTextOf, textOf, textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { DefaultValue, FoundKey, Section } from '../section';
import { PEFT_TABLE } from './peft-config-keys';
import { type GivenField, givenContent, leaveOthers, leaveVariant, ownRows, readsField } from './peft-fields';

const SOURCE = 'https://huggingface.co/docs/peft/package_reference/';

/** Kinds of adapters by their names in PEFT (`peft/utils/peft_types.py`), and the page that documents each. */
const KINDS: Readonly<Record<string, readonly [kind: FieldValue<'lora.kind'>, page: string]>> = {
  LORA: ['lora', 'lora'],
  ADALORA: ['adalora', 'adalora'],
  VERA: ['vera', 'vera'],
  VBLORA: ['vblora', 'vblora'],
  FOURIERFT: ['fourierft', 'fourierft'],
  LOHA: ['loha', 'loha'],
  LOKR: ['lokr', 'lokr'],
  OFT: ['oft', 'oft'],
  BOFT: ['boft', 'boft'],
  MISS: ['miss', 'miss'],
  BONE: ['miss', 'miss'],
  IA3: ['ia3', 'ia3'],
  LN_TUNING: ['ln-tuning', 'layernorm_tuning'],
  PROMPT_TUNING: ['prompt-tuning', 'prompt_tuning'],
  PREFIX_TUNING: ['prefix-tuning', 'prefix_tuning'],
  P_TUNING: ['p-tuning', 'p_tuning'],
};

/** Key of the rank and its default, by kind (`tuners/<kind>/config.py` of peft 0.21). */
const RANKS: Partial<Record<FieldValue<'lora.kind'>, readonly [key: string, byDefault: number]>> = {
  lora: ['r', 8],
  adalora: ['init_r', 12],
  vera: ['r', 256],
  vblora: ['r', 4],
  fourierft: ['n_frequency', 1000],
  loha: ['r', 8],
  lokr: ['r', 8],
  miss: ['r', 64],
};
const BLOCKS: Partial<Record<FieldValue<'lora.kind'>, readonly [key: string, byDefault: number]>> = {
  lokr: ['decompose_factor', -1],
  oft: ['oft_block_size', 32],
  boft: ['boft_block_size', 4],
};
const DROPOUTS: Partial<Record<FieldValue<'lora.kind'>, string>> = {
  lora: 'lora_dropout',
  adalora: 'lora_dropout',
  vera: 'vera_dropout',
  vblora: 'vblora_dropout',
  miss: 'miss_dropout',
};

/**
 * `peft_config`: the fields of PEFT's config of the kind that it names. Kinds that are not known state nothing. `beside`: fields that
 * are given and whose values no block can hold.
 */
export function readPeftConfig(section: Section, draft: Draft, beside: readonly GivenField[] = []): void {
  if (!section.root) return;
  const type = section.find('peft_type');
  const name = textOf(type?.node)
    ?.toUpperCase()
    .replace(/^PEFTTYPE\./, '');
  // Two forms of MiSS compute another way: one changes the whole weight, the other has a smaller matrix.
  const variant = /^(MISS|BONE)$/.test(name ?? '') ? textOf(section.find('init_weights')?.node) : undefined;
  const other = variant === 'bat' || variant === 'mini';
  const known = other ? undefined : KINDS[name ?? 'LORA'];
  const because: FoundKey = type ?? { key: 'peft_config', node: section.root };
  if (!known) {
    section.bring('adapter-kind', because);
    draft.report(
      'adapter-not-modelled',
      'information',
      say(
        'Adapters of the kind {0} are not modelled: the estimate takes full fine-tuning, which needs more.',
        other ? `${name} (${variant})` : (name ?? ''),
      ),
      because.node.range,
    );
    return;
  }
  const [kind, page] = known;
  const peft = <V>(value: V): DefaultValue<V> => ({
    value,
    note: say('{0} default', 'PEFT'),
    source: `${SOURCE}${page}`,
  });
  section.state('method.kind', 'lora', because);
  if (kind !== 'lora') section.state('lora.kind', kind, because);
  const config = section.by(PEFT_TABLE).withDefaultsOf(`${SOURCE}${page}`);
  const rank = RANKS[kind];
  if (rank) config.takeElse(rank[0], peft(rank[1]));
  const block = BLOCKS[kind];
  if (block) config.takeElse(block[0], peft(block[1]));
  const dropout = DROPOUTS[kind];
  if (dropout) config.take(dropout);
  readTargets(config);
  config.take('modules_to_save');
  // Without a task it is a plain `PeftModel`, which trains no head.
  if (!beside.some(({ key }) => key === 'task_type')) config.takeElse('task_type', peft('other' as const));
  else config.take('task_type');
  readOwn(config, draft, kind);
  if (kind === 'prompt-tuning' || kind === 'prefix-tuning' || kind === 'p-tuning') {
    config.take('num_virtual_tokens');
    if (kind === 'prefix-tuning') config.take('prefix_projection');
    // Without its projection a prefix is a table.
    if (kind === 'p-tuning' || config.flag('prefix_projection') === true) config.take('encoder_hidden_size');
  }
  const given = section.root.entries.flatMap(({ key, value, keyRange }) =>
    isBlank(value) ? [] : [{ key, value: givenContent(value), range: keyRange ?? value.range }],
  );
  leaveOthers(draft, kind, [rank?.[0], block?.[0], dropout], [...given, ...beside]);
}

/** What a kind has beside names and sizes: scales, biases, sizes of a bank, and layers and modules that are left out. */
function readOwn(config: Section, draft: Draft, kind: FieldValue<'lora.kind'>): void {
  config.take(...ownRows(kind));
  if (readsField(kind, 'ensure_weight_tying')) leaveTiedTarget(config, draft);
  const layers = config.find('layers_to_transform');
  if (layers && readsField(kind, 'layers_to_transform')) {
    if (layers.node.kind === 'map') leaveVariant(draft, layers.node, 'layers_to_transform');
    else config.take('layers_to_transform');
  }
  for (const key of ['exclude_modules', 'feedforward_modules']) {
    const named = readsField(kind, key) ? config.find(key) : undefined;
    if (named?.node.kind === 'list') config.take(key);
    // One text is a regular expression to PEFT.
    else if (named && textOf(named.node)) leaveVariant(draft, named.node, key);
  }
  const tokens = readsField(kind, 'trainable_token_indices')
    ? config.find('trainable_token_indices')
    : undefined;
  const rows = tokens && countRows(tokens.node);
  if (tokens && rows) config.state('lora.tokens', rows, tokens);
  else if (tokens && tokens.node.kind === 'scalar')
    leaveVariant(draft, tokens.node, 'trainable_token_indices');
}

/** Where the head is a target, and its weight to stay tied, the embedding becomes one, too: only where the model ties them (`_add_targets_to_tie`). */
function leaveTiedTarget(config: Section, draft: Draft): void {
  const found = config.find('ensure_weight_tying');
  const targets = config.find('target_modules');
  const names = textsOf(targets?.node) ?? [];
  if (!targets || !found || config.flag('ensure_weight_tying') !== true) return;
  const ends = new Set(
    names.map((name) => name.split('.').at(-1)).filter((name) => /^(lm_head|embed_tokens)$/.test(name ?? '')),
  );
  if (ends.size === 1) leaveVariant(draft, found.node, 'ensure_weight_tying');
}

/** Rows that `trainable_token_indices` names: indices, or lists of them by embedding. */
function countRows(node: ConfigNode): number {
  if (node.kind === 'list') return node.items.length;
  if (node.kind === 'map') return node.entries.reduce((sum, { value }) => sum + countRows(value), 0);
  return 0;
}

/** Names of modules; one text is a pattern that the whole path of a module must match, but for `all-linear`. */
function readTargets(section: Section): void {
  const found = section.find('target_modules');
  const pattern = textOf(found?.node);
  const parameters = textsOf(section.find('target_parameters')?.node) ?? [];
  // An empty list of modules is not a missing one: only the parameters are adapted (`_prepare_adapter_config`).
  if (found?.node.kind === 'list' && found.node.items.length === 0 && parameters.length > 0) {
    section.state('lora.targets', parameters, found);
    return;
  }
  if (found && pattern !== undefined && pattern !== 'all-linear' && textsOf(found.node)?.length === 1)
    section.state('lora.targetPattern', pattern, found);
  else if (found && longTextOf(found.node) !== undefined)
    section.state('lora.targetPattern', longTextOf(found.node) ?? '', found);
  else section.take('target_modules');
}
