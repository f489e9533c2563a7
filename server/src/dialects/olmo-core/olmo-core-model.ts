import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { integerOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import { argumentOf, argumentsOf, type Calls, leaveArgument } from '../python/call-block';
import { type CoreArguments, coreFactory, coreModel } from './olmo-core-models';
import { type CoreSettings, enumWord } from './olmo-core-settings';

/** Tokens of tokenizers that `TokenizerConfig` knows (`data/tokenizer.py`). */
const TOKENS: Readonly<Record<string, number>> = {
  dolma2: 100_278,
  dolma2_sigdig: 100_278,
  gpt_neox_olmo_dolma_v1_5: 50_280,
  gpt2: 50_257,
};
/** `padded_vocab_size`. */
const PADDED = 128;

/** Arguments of factories that are read as they are, and those that shape nothing of a step. */
const PLAIN =
  /^(?:d_model|n_layers|n_heads|n_kv_heads|head_dim|block_name|qk_norm|use_head_qk_norm|hidden_size(?:_multiple_of|_multiplier)?|rope_full_precision|layer_norm_name|tie_word_embeddings|use_flash|attn_backend|fused_ops|activation)$/;
const SHAPELESS =
  /^(?:layer_norm_eps|rope_theta|rope_scaling|no_global_rope|init_\w+|embedding_init_std|local_rope_theta|global_rope_theta|dtype)$/;
/** The same of attributes that are set on a model's config later. */
const SET_LATER = /^(?:(?:init_\w+|embedding_init_std)|lm_head\.loss_implementation)$/;
const BLOCKS: readonly unknown[] = ['default', 'reordered_norm', 'peri_norm'];
const NORMS: readonly unknown[] = [undefined, 'rms', 'qwen_rms'];

/** How losses are called that OLMo-core computes (`nn/lm_head.py`). */
type CoreLoss = 'default' | 'fused_linear';

interface CoreModel {
  readonly loss: CoreLoss | undefined;
}

/** The model of a run; where it is none that is played, nothing of it is taken for it. */
export function readCoreModel(calls: Calls, settings: CoreSettings): CoreModel {
  const { draft } = calls;
  const value = settings.value('model');
  const made = settings.made('model');
  const loss = lossOf(settings);
  const factory = made && /(?:^|\.)TransformerConfig\.(\w+)$/.exec(made.callee)?.[1];
  const known = factory === undefined ? undefined : coreFactory(factory);
  if (!made || !known) {
    const range = value?.range ?? made?.calleeRange;
    const shown = factory ? `TransformerConfig.${factory}` : 'model';
    if (range)
      draft.leave('value', { range }, shown, say('The model of `{0}` is not known here.', shown), OF_MODEL);
    return { loss };
  }
  const given = argumentsGiven(calls, settings, made, known);
  if (given) {
    if (!isSet(calls, made))
      draft.state('model.config', coreModel(given), { range: made.calleeRange }, 'model');
    readAttention(calls, given, made);
  }
  return { loss };
}

const OF_MODEL: readonly FieldPath[] = ['model.id', 'model.config'];

/** What the factory passes on, and what the call passes over it; undefined where something of it is not played. */
function argumentsGiven(
  calls: Calls,
  settings: CoreSettings,
  made: PyCall,
  known: CoreArguments,
): CoreArguments | undefined {
  const given: Record<string, unknown> = { ...known };
  let isWhole = made.open === undefined;
  const first = made.positional[0];
  const named = argumentsOf(calls.program, made).filter(({ key }) => !/\.|^\[/.test(key));
  const all = first ? [{ key: 'vocab_size', value: first }, ...named] : named;
  for (const { key, value } of all) {
    const read = isNone(value) ? undefined : argument(settings, key, value);
    if (read === UNKNOWN) {
      leaveArgument(calls.draft, key, value, OF_MODEL);
      isWhole = false;
    } else if (read === undefined) delete given[key];
    else Object.assign(given, read);
  }
  if (made.open) calls.draft.leaveUncounted({ range: made.open }, '**', OF_MODEL);
  if (typeof given.vocab_size !== 'number' || typeof given.d_model !== 'number') isWhole = false;
  if (
    !BLOCKS.includes(given.block_name ?? 'default') ||
    !NORMS.includes(given.layer_norm_name) ||
    given.fused_ops
  ) {
    calls.draft.leaveUncounted({ range: made.calleeRange }, 'block_name', OF_MODEL);
    isWhole = false;
  }
  return isWhole ? given : undefined;
}

const UNKNOWN = Symbol('unknown');

/** What one argument states, as `coreModel` takes it. */
function argument(settings: CoreSettings, key: string, value: PyValue): CoreArguments | typeof UNKNOWN {
  if (SHAPELESS.test(key)) return {};
  if (key === 'vocab_size') {
    const vocab_size = vocabularyOf(settings, value);
    return vocab_size === undefined ? UNKNOWN : { vocab_size };
  }
  const made = settings.madeBy(value);
  if (key === 'sliding_window' && made?.callee.endsWith('SlidingWindowAttentionConfig'))
    return windowsOf(made);
  if (key === 'gate' && made?.callee.endsWith('GateConfig')) {
    const granularity = argumentOf(made, 'granularity', 0);
    const gate = granularity ? enumWord(granularity) : 'headwise';
    return gate === undefined || argumentOf(made, 'full_precision', 1) ? UNKNOWN : { gate };
  }
  if (!PLAIN.test(key)) return UNKNOWN;
  // Of several kernels of flash-attn one keeps what the others keep.
  if (key === 'attn_backend' && value.kind === 'either')
    return value.options.every((option) => /^flash/.test(enumWord(option) ?? ''))
      ? { [key]: 'flash_2' }
      : UNKNOWN;
  const plain = enumWord(value) ?? (value.kind === 'scalar' ? value.value : undefined);
  return plain === undefined ? UNKNOWN : { [key]: plain };
}

function windowsOf(made: PyCall): CoreArguments | typeof UNKNOWN {
  const pattern = argumentOf(made, 'pattern', 0);
  const windows =
    pattern?.kind === 'list' ? pattern.items.map((item) => integerOf(knownNode(item))) : undefined;
  if (!windows?.every((window) => window !== undefined)) return UNKNOWN;
  const flag = (end: 'first' | 'last') => argumentOf(made, `force_full_attention_on_${end}_layer`);
  const [first, last] = [flag('first'), flag('last')].map((value) =>
    value?.kind === 'scalar' ? value.value : value,
  );
  if ([first, last].some((value) => value !== undefined && typeof value !== 'boolean')) return UNKNOWN;
  return {
    windows,
    full_attention_on_first_layer: first ?? true,
    full_attention_on_last_layer: last ?? true,
  };
}

/** `tokenizer_config.padded_vocab_size()`, `tokenizer_config.vocab_size`, or a number. */
function vocabularyOf(settings: CoreSettings, value: PyValue): number | undefined {
  const number = integerOf(knownNode(value));
  if (number !== undefined) return number;
  const call = settings.madeBy(value);
  if (call?.callee !== 'padded_vocab_size' || !call.of) return undefined;
  const tokenizer = settings.madeBy(call.of);
  const name = tokenizer && /(?:^|\.)TokenizerConfig\.(\w+)$/.exec(tokenizer.callee)?.[1];
  const own = tokenizer && integerOf(knownNode(argumentOf(tokenizer, 'vocab_size', 0)));
  const tokens = name !== undefined && Object.hasOwn(TOKENS, name) ? TOKENS[name] : own;
  const multiple = argumentOf(call, 'pad_multiple', 0);
  const padded = multiple ? integerOf(knownNode(multiple)) : PADDED;
  return tokens === undefined || padded === undefined ? undefined : padded * Math.ceil(tokens / padded);
}

/** Whether something of the model is set after it was made that is not followed. */
function isSet({ program, draft }: Calls, made: PyCall): boolean {
  let found = false;
  for (const { of, within, attribute, range } of program.assignments) {
    const path = (within ? `${within}.${attribute}` : attribute).replaceAll('..', '.');
    if (of !== made.id || SET_LATER.test(path)) continue;
    draft.leaveUncounted({ range }, path, OF_MODEL);
    found = true;
  }
  return found;
}

/** `model_config.lm_head.loss_implementation = LMLossImplementation.fused_linear`; undefined where it is not known. */
function lossOf(settings: CoreSettings): CoreLoss | undefined {
  const value = settings.setOn('model', 'lm_head', 'loss_implementation');
  const word = value ? enumWord(value) : 'default';
  return word === 'default' || word === 'fused_linear' ? word : undefined;
}

/** Backends by their names (`nn/attention/backend.py`): without one windows take flash-attn where it is there, and PyTorch's else. */
const BACKENDS: Readonly<Record<string, 'sdpa' | 'flash2' | 'flash3'>> = {
  torch: 'sdpa',
  flash_2: 'flash2',
  flash_3: 'flash3',
};

function readAttention({ draft }: Calls, given: CoreArguments, made: PyCall): void {
  const word = given.attn_backend ?? (given.use_flash === true || given.windows ? 'flash_2' : 'torch');
  const kernel = BACKENDS[String(word)];
  const note = say('{0} default', 'OLMo-core');
  if (kernel === undefined)
    draft.leaveUncounted({ range: made.calleeRange }, `attn_backend: ${String(word)}`, [
      'attention.implementation',
    ]);
  else draft.infer('attention.implementation', kernel, note, { range: made.calleeRange }, 'attn_backend');
}
