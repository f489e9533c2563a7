import { plainOf } from '../../config/scalar';
import { say } from '../../wording/say';
import { configOfShape, type GptShape } from '../megatron/gpt-shape';
import { paddedVocabulary, type TokenizerVocabulary, vocabularyOf } from '../megatron/tokenizer-vocabulary';
import type { Section } from '../section';

/** Activations that multiply two branches (`model/activations.py`, `get_activation`). */
const GATED: Readonly<Record<string, string>> = {
  geglu: 'gelu',
  reglu: 'relu',
  swiglu: 'silu',
  bilinear: 'identity',
  glu: 'sigmoid',
};
const PLAIN: Readonly<Record<string, string>> = { swish: 'silu', softsign: 'softsign' };

function upTo(size: number, multiple: number): number {
  return Math.ceil(size / multiple) * multiple;
}

/**
 * Width of each branch of the MLP (`model/transformer.py`, `ParallelMLP`): the stated width, or a multiple of the hidden
 * size, of which a gated MLP takes two thirds for both branches; the joint projection is rounded up to twice the multiple,
 * the way back to the multiple. Where the two do not meet (GPT-NeoX would fail), the way back counts.
 */
export function neoxInner(stated: number, gated: boolean, multiple: number): number {
  if (!gated) return upTo(stated, multiple);
  return upTo(Math.floor(Math.floor((stated * 2) / 3) / 2), multiple);
}

/** The model that the file describes; undefined where it has none or one that is not known (RWKV, gMLP). */
export function neoxModel(
  section: Section,
): { readonly config: Readonly<Record<string, unknown>>; readonly note: string } | undefined {
  const [layers, hidden, heads] = [
    section.integer('num_layers'),
    section.integer('hidden_size'),
    section.integer('num_attention_heads'),
  ];
  if (layers === undefined || hidden === undefined || heads === undefined) return undefined;
  if (layers < 1 || hidden < 1 || heads < 1) return undefined;
  const vocabulary = rowsOf(section);
  if (!vocabulary) return undefined;
  const kernels = section.find('attention_config');
  const words = kernels ? JSON.stringify(plainOf(kernels.node)) : '';
  if (/rwkv|gmlp|amlp/.test(words)) return undefined;
  const tied = section.flag('no_weight_tying') !== true;
  if (/mamba/.test(words)) {
    if (/global|flash|local|sparse/.test(words)) return undefined;
    return { config: mamba(section, { layers, hidden, rows: vocabulary.rows, tied }), note: vocabulary.note };
  }
  const word = section.textOrDefault('activation');
  const gated = Object.hasOwn(GATED, word);
  const stated =
    section.integer('intermediate_size') ?? Math.floor((section.number('expansion_factor') ?? 4) * hidden);
  const inner = neoxInner(stated, gated, section.integerOrDefault('mlp_multiple_of'));
  const attention = section.flagOrDefault('use_bias_in_attn_linear');
  const experts = section.integerOrDefault('moe_num_experts');
  const positions = section.textOrDefault('pos_emb');
  const shape: GptShape = {
    layers,
    hidden,
    heads,
    groups: section.integer('num_kv_heads'),
    inner,
    gated,
    activation: GATED[word] ?? PLAIN[word] ?? word,
    vocabulary: vocabulary.rows,
    tied,
    positions: positions === 'learned' ? 'learned' : positions === 'rotary' ? 'rope' : 'none',
    maxPositions: section.integer('max_position_embeddings') ?? section.integer('seq_length'),
    rotaryShare: section.number('rotary_pct'),
    norm: normOf(section.text('norm')),
    bias: { qkv: attention, attention, mlp: section.flagOrDefault('use_bias_in_mlp') },
    normsQueries: section.flag('use_qk_layernorm'),
    parallelResidual: section.flag('gpt_j_residual'),
    sharedNorm: section.flag('gpt_j_tied'),
    hiddenDropout: section.numberOrDefault('hidden_dropout'),
    attentionDropout: section.numberOrDefault('attention_dropout'),
    window: section.integer('sliding_window_width'),
    experts: experts > 1 ? expertsOf(section, experts, layers, hidden) : undefined,
  };
  if (shape.positions === 'learned' && shape.maxPositions === undefined) return undefined;
  return { config: configOfShape(shape), note: vocabulary.note };
}

function normOf(word: string | undefined): GptShape['norm'] {
  if (/rms/.test(word ?? '')) return 'rmsnorm';
  return word === 'non_parametric_layernorm' ? 'plain' : 'layernorm';
}

/** Experts have two matrices without biases or a gate, and a width of their own rounding (`model/moe_mlp.py`). */
function expertsOf(section: Section, count: number, layers: number, hidden: number): GptShape['experts'] {
  const every = section.integerOrDefault('moe_expert_interval');
  return {
    count,
    chosen: section.integerOrDefault('moe_top_k'),
    inner: section.integer('intermediate_size') ?? upTo(4 * hidden, 256),
    layers: every > 1 ? Array.from({ length: layers }, (_, i) => (i % every === 0 ? 1 : 0)) : undefined,
    shared: 0,
    sharedGate: false,
    sigmoid: false,
    wideRouter: false,
    correction: false,
    plain: true,
    bias: false,
  };
}

/** Tokenizers that are usual for a type whose file is named elsewhere: EleutherAI's own, and those of the Llama line. */
const USUAL: Readonly<Record<string, TokenizerVocabulary>> = {
  hftokenizer: {
    size: 50277,
    get note() {
      return say('vocabulary of 20B_tokenizer.json, which is assumed');
    },
  },
  spmtokenizer: {
    size: 32000,
    get note() {
      return say("vocabulary of Llama's tokenizer, which is assumed");
    },
  },
};

function usual(type: string): TokenizerVocabulary | undefined {
  return Object.hasOwn(USUAL, type) ? USUAL[type] : undefined;
}

/** Rows of the embedding; the tokenizer is GPT-2's where the file names none (`tokenizer_type`). */
function rowsOf(section: Section): { readonly rows: number; readonly note: string } | undefined {
  const padded = section.integer('padded_vocab_size');
  if (padded !== undefined) return { rows: padded, note: say('padded vocabulary as set') };
  const type = section.textOrDefault('tokenizer_type');
  const known = vocabularyOf(type, section.text('vocab_file')) ?? usual(type.toLowerCase());
  if (!known) return undefined;
  const multiple = section.integerOrDefault('make_vocab_size_divisible_by');
  const rows = paddedVocabulary(known.size, multiple, section.integerOrDefault('model_parallel_size'));
  const note = section.has('tokenizer_type') ? known.note : say('{0}, the default tokenizer', known.note);
  return { rows, note: say('{0}, padded to {1}', note, String(rows)) };
}

/** Mamba 1 (`model/mamba/mamba.py`): 16 states, a convolution of 4. */
function mamba(
  section: Section,
  sizes: { readonly layers: number; readonly hidden: number; readonly rows: number; readonly tied: boolean },
): Readonly<Record<string, unknown>> {
  const expand = section.number('expansion_factor') ?? 2;
  return {
    model_type: 'mamba',
    hidden_size: sizes.hidden,
    num_hidden_layers: sizes.layers,
    intermediate_size: section.integer('intermediate_size') ?? Math.floor(expand * sizes.hidden),
    state_size: 16,
    conv_kernel: 4,
    expand,
    vocab_size: sizes.rows,
    tie_word_embeddings: sizes.tied,
    use_conv_bias: section.flagOrDefault('mamba_use_bias_in_conv'),
    use_bias: section.flagOrDefault('mamba_use_bias_in_linears'),
  };
}
