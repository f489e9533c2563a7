import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, layerNormed, plainNorm, rms } from '../layers/block';
import { residualLayer } from '../layers/residual';
import type { QueryKeyNorm } from '../layers/self-attention-spec';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention, llamaMlp } from './llama-parts';
import { twoLinears } from './plain-decoder';
import { figuresOf, layersOfKinds, readSizes, type Sizes, slidingLayers } from './sizes';

/** What sets Llama's descendants with pre-norm layers apart. */
export interface LlamaTraits {
  readonly bias?: { readonly qkv: boolean; readonly output: boolean };
  readonly mlpBias?: boolean;
  readonly norm?: QueryKeyNorm;
  readonly normStyle?: 'llama' | 'gemma' | 'olmo';
  readonly normOf?: (name: string) => Block;
  /** Window of layer `i` in tokens; undefined for full attention. */
  readonly windowOf?: (layer: number) => number | undefined;
  /** Whether layer `i` rotates queries and keys. */
  readonly rotates?: (layer: number) => boolean;
  readonly rotaryShare?: number;
  readonly clip?: boolean;
  /** Constants on the embedding, the branches and the logits. */
  readonly scaledEmbedding?: boolean;
  readonly scaledBranches?: boolean;
  readonly scaledLogits?: boolean;
  readonly residualDropout?: number;
  readonly normsAfter?: boolean;
  /** Names of norms behind the branches, where there are some beside those before them. */
  readonly branchNorms?: readonly [string, string];
  /** Names of the norms before the branches; default Llama's. */
  readonly normNames?: readonly [string, string];
  readonly mlp?: Block;
}

/** A layer as Llama's: norm, attention, norm, gated MLP; with `normsAfter` the norms follow their branch (OLMo 2). */
function llamaLayer(sizes: Sizes, traits: LlamaTraits, window: number | undefined, rotates: boolean): Block {
  const normOf = traits.normOf ?? ((name: string) => rms(name, traits.normStyle));
  const attention = llamaAttention(sizes, {
    bias: traits.bias,
    rotary: rotates ? (traits.rotaryShare ?? 1) : 0,
    norm: traits.norm,
    window,
    clip: traits.clip,
  });
  const feedForward = traits.mlp ?? llamaMlp(sizes, traits.mlpBias);
  const [first, second] = traits.normNames ?? ['input_layernorm', 'post_attention_layernorm'];
  const common = {
    mixer: attention,
    feedForward,
    scaled: traits.scaledBranches,
    dropout: traits.residualDropout,
  };
  const spec = traits.normsAfter
    ? {
        ...common,
        afterMixer: normOf('post_attention_layernorm'),
        afterFeedForward: normOf('post_feedforward_layernorm'),
      }
    : {
        ...common,
        beforeMixer: normOf(first),
        beforeFeedForward: normOf(second),
        afterMixer: traits.branchNorms && normOf(traits.branchNorms[0]),
        afterFeedForward: traits.branchNorms && normOf(traits.branchNorms[1]),
      };
  return (t, x) => residualLayer(t, x, spec);
}

function llamaArchitecture(sizes: Sizes, traits: LlamaTraits): Architecture {
  const kinds = Array.from({ length: sizes.layers }, (_, i) => {
    return `${traits.windowOf?.(i) ?? 0}/${traits.rotates?.(i) ?? true}`;
  });
  const layers = layersOfKinds(kinds, (kind) => {
    const [window, rotates] = kind.split('/');
    return llamaLayer(sizes, traits, Number(window) || undefined, rotates === 'true');
  });
  return {
    figures: figuresOf(sizes),
    stages: decoderStages({
      embedding: {
        name: 'embed_tokens',
        rows: sizes.vocabulary,
        columns: sizes.hidden,
        scaled: traits.scaledEmbedding,
      },
      layers,
      finalNorm: (traits.normOf ?? ((name: string) => rms(name, traits.normStyle)))('norm'),
      head: {
        name: 'lm_head',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? 'embed_tokens.weight' : undefined,
        scale: traits.scaledLogits,
      },
    }),
  };
}

/** A window that all layers share, where the config switches it on. */
export function wholeWindow(config: ConfigReader): LlamaTraits['windowOf'] {
  const window = config.count(0, 'sliding_window');
  return window > 0 ? () => window : undefined;
}

/** Windows by `layer_types`, or on all layers but every `period`-th. */
export function alternatingWindow(
  config: ConfigReader,
  layers: number,
  period: number,
): LlamaTraits['windowOf'] {
  const window = config.count(0, 'sliding_window');
  if (window === 0) return undefined;
  const sliding = slidingLayers(config, layers, period);
  return (i) => (sliding[i] ? window : undefined);
}

/** Qwen: the window starts at layer `max_window_layers` and only where `use_sliding_window` is set. */
export function qwenWindow(config: ConfigReader): LlamaTraits['windowOf'] {
  if (!config.flag(false, 'use_sliding_window')) return undefined;
  const window = config.count(0, 'sliding_window');
  const first = config.count(0, 'max_window_layers');
  return window > 0 ? (i) => (i >= first ? window : undefined) : undefined;
}

function both(bias: boolean): { qkv: boolean; output: boolean } {
  return { qkv: bias, output: bias };
}

/** Norm of every head of queries and keys, as Qwen 3 has it. */
const HEAD_NORM: QueryKeyNorm = { kind: 'head' };
const OLMO_NORM: QueryKeyNorm = { kind: 'full', style: 'olmo' };

/** Every few layers one without rotary positions (SmolLM 3): `no_rope_layers` marks rotated layers with 1. */
function smolRotation(config: ConfigReader): (layer: number) => boolean {
  const marks = config.list('no_rope_layers');
  const interval = config.sizeOr(4, 'no_rope_layer_interval');
  return (i) => (marks ? marks[i] !== 0 && marks[i] !== false : (i + 1) % interval !== 0);
}

/** What the traits of a model are read from. */
interface TraitsInput {
  readonly config: ConfigReader;
  readonly sizes: Sizes;
  /** `attention_bias` and `mlp_bias` of its config. */
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
}

/** What sets a model apart from Llama, by its `model_type`. */
const TRAITS: Readonly<Record<string, (from: TraitsInput) => LlamaTraits>> = {
  qwen2: ({ config }) => ({ bias: { qkv: true, output: false }, windowOf: qwenWindow(config) }),
  mimo: ({ config }) => ({ bias: { qkv: config.flag(true, 'attention_bias'), output: false } }),
  qwen3: ({ config, attentionBias }) => ({
    bias: both(attentionBias),
    norm: HEAD_NORM,
    windowOf: qwenWindow(config),
  }),
  mistral: ({ config }) => ({ windowOf: wholeWindow(config) }),
  ministral3: ({ config }) => ({ windowOf: wholeWindow(config) }),
  gemma: ({ attentionBias }) => ({ bias: both(attentionBias), normStyle: 'gemma', scaledEmbedding: true }),
  smollm3: ({ config, attentionBias, mlpBias }) => ({
    bias: both(attentionBias),
    mlpBias,
    rotates: smolRotation(config),
  }),
  granite: ({ attentionBias, mlpBias }) => ({
    bias: both(attentionBias),
    mlpBias,
    scaledEmbedding: true,
    scaledBranches: true,
    scaledLogits: true,
  }),
  minicpm: () => ({ scaledEmbedding: true, scaledBranches: true, scaledLogits: true }),
  seed_oss: ({ config, mlpBias }) => ({
    bias: { qkv: config.flag(true, 'attention_bias'), output: config.flag(false, 'attention_out_bias') },
    mlpBias,
    residualDropout: config.dropout('residual_dropout'),
  }),
  ernie4_5: ({ config }) => {
    const bias = config.flag(false, 'use_bias');
    return { bias: both(bias), mlpBias: bias };
  },
  internlm3: ({ config }) => ({
    bias: both(config.flag(false, 'qkv_bias', 'attention_bias')),
    mlpBias: config.flag(false, 'bias', 'mlp_bias'),
  }),
  internlm: ({ config }) => ({ bias: both(config.flag(true, 'bias')) }),
  hunyuan_v1_dense: ({ attentionBias }) => ({
    bias: both(attentionBias),
    norm: { kind: 'head', names: ['query_layernorm', 'key_layernorm'], afterRotary: true },
  }),
  olmo: ({ config, attentionBias }) => ({
    bias: both(attentionBias),
    normOf: plainNorm,
    clip: config.has('clip_qkv'),
  }),
  orion: ({ attentionBias }) => ({ bias: both(attentionBias), normOf: (name) => layerNormed(name) }),
  olmo2: ({ attentionBias }) => ({
    bias: both(attentionBias),
    norm: OLMO_NORM,
    normStyle: 'olmo',
    normsAfter: true,
  }),
  olmo3: ({ config, sizes, attentionBias }) => ({
    bias: both(attentionBias),
    norm: OLMO_NORM,
    normStyle: 'olmo',
    normsAfter: true,
    windowOf: alternatingWindow(config, sizes.layers, 4),
  }),
  arcee: ({ sizes, attentionBias, mlpBias }) => ({ bias: both(attentionBias), mlp: ungated(sizes, mlpBias) }),
  apertus: ({ sizes, attentionBias }) => ({
    bias: both(attentionBias),
    norm: HEAD_NORM,
    mlp: ungated(sizes, false),
    normNames: ['attention_layernorm', 'feedforward_layernorm'],
  }),
  helium: ({ sizes, attentionBias, mlpBias }) => {
    // `HeliumAttention` gives its output projection the width of the model on both sides.
    if (sizes.heads * sizes.headDim !== sizes.hidden) {
      throw new ConfigError(say('heads of "head_dim" must add up to "hidden_size"'));
    }
    return { bias: { qkv: attentionBias, output: false }, mlpBias, normStyle: 'olmo' };
  },
  hyperclovax: ({ config, attentionBias, mlpBias }) => ({
    bias: both(attentionBias),
    mlpBias,
    branchNorms: config.flag(false, 'use_post_norm') ? ['post_norm1', 'post_norm2'] : undefined,
    scaledEmbedding: true,
    scaledBranches: true,
    scaledLogits: true,
  }),
  ministral: ({ config, sizes }) => ({ windowOf: alternatingWindow(config, sizes.layers, 0) }),
  cwm: ({ config, mlpBias }) => {
    const window = config.count(0, 'sliding_window');
    const types = config.list('layer_types');
    const slides = (i: number) => (types ? types[i] === 'sliding_attention' : i % 4 !== 0);
    return { mlpBias, windowOf: window > 0 ? (i) => (slides(i) ? window : undefined) : undefined };
  },
  exaone4: ({ config, sizes }) => {
    const windowOf = alternatingWindow(config, sizes.layers, exaonePeriod(config));
    // Layers with full attention among windowed ones have no rotary positions.
    const rotates = windowOf && ((i: number) => windowOf(i) !== undefined);
    return { norm: HEAD_NORM, normsAfter: true, windowOf, rotates };
  },
};

const LLAMA_TRAITS = ({ attentionBias, mlpBias }: TraitsInput): LlamaTraits => ({
  bias: both(attentionBias),
  mlpBias,
});

function traitsOf(config: ConfigReader, sizes: Sizes): LlamaTraits {
  const attentionBias = config.flag(false, 'attention_bias', 'qkv_bias');
  const mlpBias = config.flag(false, 'mlp_bias');
  const own = Object.hasOwn(TRAITS, config.modelType) ? TRAITS[config.modelType] : undefined;
  const read = own ?? LLAMA_TRAITS;
  return read({ config, sizes, attentionBias, mlpBias });
}

/** An MLP of two linears in Llama's names (Arcee, Apertus). */
function ungated(sizes: Sizes, bias: boolean): Block {
  return twoLinears('mlp', { up: 'up_proj', down: 'down_proj' }, sizes.inner, sizes.activation, bias);
}

/** EXAONE 4 writes its pattern as a number or as letters, `LLLG`. */
function exaonePeriod(config: ConfigReader): number {
  try {
    return config.count(4, 'sliding_window_pattern');
  } catch {
    return config.text('LLLG', 'sliding_window_pattern').length;
  }
}

export const llama: ModelFamily = {
  modelTypes: [
    'llama',
    'mistral',
    'ministral3',
    'qwen2',
    'qwen3',
    'gemma',
    'smollm3',
    'granite',
    'minicpm',
    'mimo',
    'seed_oss',
    'ernie4_5',
    'internlm',
    'internlm3',
    'hunyuan_v1_dense',
    'olmo',
    'orion',
    'olmo2',
    'olmo3',
    'exaone4',
    'arcee',
    'apertus',
    'helium',
    'hyperclovax',
    'ministral',
    'cwm',
  ],
  build: (config) => {
    const sizes = readSizes(config);
    const architecture = llamaArchitecture(sizes, traitsOf(config, sizes));
    return config.modelType === 'apertus' ? { ...architecture, notes: [pythonXielu()] } : architecture;
  },
};

/** transformers takes the CUDA kernel where it is installed (`activations.py`, `XIELUActivation`), which keeps its input alone. */
const pythonXielu = () =>
  say('xIELU is computed in Python: where its CUDA kernel is installed, less is needed');

/** A type that is not known, read as a Llama. */
export function llamaLike(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const attentionBias = config.flag(false, 'attention_bias', 'qkv_bias');
  return {
    ...llamaArchitecture(sizes, {
      bias: both(attentionBias),
      mlpBias: config.flag(false, 'mlp_bias'),
      rotaryShare: config.rotaryShare(1),
      windowOf: config.has('layer_types') ? alternatingWindow(config, sizes.layers, 1) : wholeWindow(config),
    }),
    notes: [say('model_type "{0}" is not known: treated as Llama-like from its sizes', config.modelType)],
  };
}
