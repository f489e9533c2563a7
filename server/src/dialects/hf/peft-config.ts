import { textOf, textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Found, Section, Silence } from '../section';

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
const RANKS: Partial<Record<FieldValue<'lora.kind'>, readonly [key: string, silent: number]>> = {
  lora: ['r', 8],
  adalora: ['init_r', 12],
  vera: ['r', 256],
  vblora: ['r', 4],
  fourierft: ['n_frequency', 1000],
  loha: ['r', 8],
  lokr: ['r', 8],
  miss: ['r', 64],
};
const BLOCKS: Partial<Record<FieldValue<'lora.kind'>, readonly [key: string, silent: number]>> = {
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

/** `peft_config`: the fields of PEFT's config of the kind that it names. Kinds that are not known state nothing. */
export function readPeftConfig(section: Section, draft: Draft): void {
  if (!section.root) return;
  const type = section.find('peft_type');
  const name = textOf(type?.node)
    ?.toUpperCase()
    .replace(/^PEFTTYPE\./, '');
  // Two forms of MiSS compute another way: one changes the whole weight, the other has a smaller matrix.
  const variant = /^(MISS|BONE)$/.test(name ?? '') ? textOf(section.find('init_weights')?.node) : undefined;
  const other = variant === 'bat' || variant === 'mini';
  const known = other ? undefined : KINDS[name ?? 'LORA'];
  const because: Found = type ?? { key: 'peft_config', node: section.root };
  if (!known) {
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
  const peft = <V>(value: V): Silence<V> => ({
    value,
    note: say('{0} default', 'PEFT'),
    source: `${SOURCE}${page}`,
  });
  section.state('method.kind', 'lora', because);
  if (kind !== 'lora') section.state('lora.kind', kind, because);
  const rank = RANKS[kind];
  if (rank) section.stateInteger('lora.rank', rank[0], peft(rank[1]));
  const block = BLOCKS[kind];
  if (block) section.stateInteger('lora.blockSize', block[0], peft(block[1]));
  const dropout = DROPOUTS[kind];
  if (dropout) section.stateNumber('lora.dropout', dropout, peft(0));
  readTargets(section);
  section.stateTexts('lora.modulesToSave', 'modules_to_save');
  if (kind === 'lora') {
    section.stateNumber('lora.alpha', 'lora_alpha', peft(8));
    section.stateFlag('lora.dora', 'use_dora', peft(false));
  } else if (kind === 'vblora') {
    section.stateInteger('lora.vectors', 'num_vectors', peft(256));
    section.stateInteger('lora.vectorLength', 'vector_length', peft(256));
  } else if (kind === 'prompt-tuning' || kind === 'prefix-tuning' || kind === 'p-tuning') {
    section.stateInteger('lora.virtualTokens', 'num_virtual_tokens');
    // Without its projection a prefix is a table.
    if (kind === 'p-tuning' || section.flag('prefix_projection') === true)
      section.stateInteger('lora.encoderSize', 'encoder_hidden_size');
  }
}

/** Names of modules; one text is a pattern that the whole path of a module must match, but for `all-linear`. */
function readTargets(section: Section): void {
  const found = section.find('target_modules');
  const pattern = textOf(found?.node);
  if (found && pattern !== undefined && pattern !== 'all-linear' && textsOf(found.node)?.length === 1)
    section.state('lora.targetPattern', pattern, found);
  else section.stateTexts('lora.targets', 'target_modules');
}
