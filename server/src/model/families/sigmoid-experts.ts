import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { type Block, rms } from '../layers/block';
import { kimiDeltaAttention } from '../layers/kimi-delta-attention';
import { gatedMlp } from '../layers/mlp';
import { type MoeSpec, mixtureOfExperts } from '../layers/moe';
import { deepseekAttention } from './deepseek-attention';
import type { Architecture, ModelFamily } from './family';
import { alternatingWindow, type LlamaTraits } from './llama';
import { llamaAttention, llamaMlp } from './llama-parts';
import { readSizes, type Sizes } from './sizes';
import { sparseDecoder } from './sparse-decoder';

const NORMS = ['input_layernorm', 'post_attention_layernorm'] as const;

/** A decoder whose experts are chosen by sigmoid scores and a balancing bias, as DeepSeek V3 does it. */
interface SigmoidDecoder {
  readonly attention: (window: number | undefined, sparse: boolean) => Block;
  readonly windowOf?: LlamaTraits['windowOf'];
  readonly moe: MoeSpec;
  /** Of layers without experts, where it is another than Llama's. */
  readonly dense?: Block;
  readonly isSparse: (layer: number) => boolean;
  readonly norms?: readonly [string, string];
  readonly normsAfter?: readonly [string, string];
  readonly normStyle?: LlamaTraits['normStyle'];
  readonly scaledEmbedding?: boolean;
  /** Of dense layers. */
  readonly mlpBias?: boolean;
}

function sigmoidDecoder(sizes: Sizes, model: SigmoidDecoder): Architecture {
  const experts = mixtureOfExperts(model.moe);
  const dense = model.dense ?? llamaMlp(sizes, model.mlpBias);
  return sparseDecoder<string>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      return `${model.windowOf?.(i) ?? 0}/${model.isSparse(i) ? 'sparse' : 'dense'}`;
    }),
    mixer: (kind) => model.attention(Number(kind.split('/')[0]) || undefined, kind.endsWith('sparse')),
    feedForward: (kind) => (kind.endsWith('sparse') ? experts : dense),
    norms: model.norms ?? NORMS,
    normsAfter: model.normsAfter,
    normOf: (name) => rms(name, model.normStyle),
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    scaledEmbedding: model.scaledEmbedding,
  });
}

/** Experts by `mlp_layer_types`, or from layer `first` on. */
function sparseFrom(config: ConfigReader, first: number): (layer: number) => boolean {
  const types = config.list('mlp_layer_types');
  return (i) => (types ? types[i] === 'sparse' : i >= first);
}

/** Experts as DeepSeek V3 chooses them, with so many shared ones beside them. */
export function sigmoidMoe(config: ConfigReader, sizes: Sizes, shared: number, wide = true): MoeSpec {
  const inner = config.size('moe_intermediate_size');
  return {
    router: {
      name: 'mlp.gate',
      score: 'sigmoid',
      wide,
      correction: 'mlp.gate.e_score_correction_bias',
      fp32Weights: true,
    },
    experts: {
      name: 'mlp.experts',
      count: config.size('n_routed_experts', 'num_experts', 'num_local_experts'),
      chosen: config.size('num_experts_per_tok', 'num_experts_per_token'),
      inner,
      activation: sizes.activation,
    },
    shared: shared > 0 ? { name: 'mlp.shared_experts', inner: shared * inner } : undefined,
  };
}

/** dots.llm1: Qwen 3's attention, windows from `max_window_layers` on. */
function dots1(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const window = config.count(0, 'sliding_window');
  const types = config.list('layer_types');
  const slides = (i: number) =>
    types ? types[i] === 'sliding_attention' : i >= config.count(0, 'max_window_layers');
  return sigmoidDecoder(sizes, {
    attention: (w) =>
      llamaAttention(sizes, { bias: { qkv: bias, output: bias }, norm: { kind: 'head' }, window: w }),
    windowOf: window > 0 ? (i) => (slides(i) ? window : undefined) : undefined,
    moe: sigmoidMoe(config, sizes, config.size('n_shared_experts')),
    isSparse: sparseFrom(config, config.count(0, 'first_k_dense_replace')),
  });
}

/** Solar Open: GLM 4.5's experts on every layer behind Llama's attention. */
function solarOpen(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const attention = llamaAttention(sizes, { bias: { qkv: bias, output: false } });
  return sigmoidDecoder(sizes, {
    attention: () => attention,
    moe: sigmoidMoe(config, sizes, config.count(1, 'n_shared_experts')),
    isSparse: () => true,
  });
}

/** EXAONE MoE (K-EXAONE): EXAONE 4's attention, which rotates inside windows only, but norms before the branches. */
function exaoneMoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const windowOf = alternatingWindow(config, sizes.layers, config.sizeOr(4, 'sliding_window_pattern'));
  return sigmoidDecoder(sizes, {
    attention: (window) =>
      llamaAttention(sizes, {
        norm: { kind: 'head' },
        rotary: windowOf && window === undefined ? 0 : 1,
        window,
      }),
    windowOf,
    moe: sigmoidMoe(config, sizes, config.count(1, 'num_shared_experts')),
    isSparse: sparseFrom(config, config.count(1, 'first_k_dense_replace')),
  });
}

/** Hunyuan 3: Qwen 3's attention; the sum with the shared expert may be taken in fp32. */
function hunyuan3(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const mlpBias = config.flag(false, 'mlp_bias');
  const attention = llamaAttention(sizes, {
    bias: { qkv: bias, output: bias },
    norm: { kind: 'head' },
  });
  const moe = sigmoidMoe(config, sizes, config.count(1, 'num_shared_experts'));
  return sigmoidDecoder(sizes, {
    attention: () => attention,
    moe: {
      ...moe,
      router: { ...moe.router, correction: 'mlp.e_score_correction_bias' },
      wideSum: config.flag(true, 'enable_moe_fp32_combine'),
      shared: moe.shared && { ...moe.shared, bias: mlpBias },
    },
    isSparse: sparseFrom(config, 1),
    mlpBias,
  });
}

/** A list with one entry per layer that is either of words or, as its first releases have it, of 0 and 1. */
export function eachLayer(config: ConfigReader, names: readonly [string, string], word: string) {
  const listed = config.list(names[0]);
  const switches = config.list(names[1]);
  return (i: number, otherwise: boolean) => {
    if (listed) return listed[i] === word;
    return switches ? switches[i] === 1 : otherwise;
  };
}

/**
 * MiMo V2 Flash: most layers see a window, with twice the key heads and a sink for each head; values are narrower than keys and
 * scaled. No shared expert. transformers has eager attention alone for it (`MiMoV2FlashPreTrainedModel`).
 */
function mimoFlash(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const inside = config.count(0, 'sliding_window_size');
  const window = inside > 0 ? inside + 1 : config.size('sliding_window');
  const slides = eachLayer(config, ['layer_types', 'hybrid_layer_pattern'], 'sliding_attention');
  const isSparse = eachLayer(config, ['mlp_layer_types', 'moe_layer_freq'], 'sparse');
  const rotated = Math.floor(sizes.headDim * config.rotaryShare(0.334));
  return sigmoidDecoder(sizes, {
    attention: (w) =>
      llamaAttention(sizes, {
        keyValueHeads: w === undefined ? sizes.keyValueHeads : 2 * sizes.keyValueHeads,
        valueDim: config.size('v_head_dim'),
        scaledValues: true,
        bias: { qkv: bias, output: false },
        rotary: sizes.headDim === 0 ? 1 : rotated / sizes.headDim,
        window: w,
        sinks: w !== undefined,
        shiftsScores: true,
        fp32Softmax: false,
        kernels: 'no-sdpa',
      }),
    windowOf: (i) => (slides(i, i > 0 && (i + 1) % 6 !== 0) ? window : undefined),
    moe: sigmoidMoe(config, sizes, 0),
    isSparse: (i) => isSparse(i, i > 0),
  });
}

/** Layers with experts as Step 3.5 names them: by type, or in a list or a text of their places. */
function stepExperts(config: ConfigReader, layers: number): (layer: number) => boolean {
  const types = config.list('mlp_layer_types');
  const listed = config.isText('moe_layers_enum')
    ? config.text('', 'moe_layers_enum').split(',')
    : config.list('moe_layers_enum');
  const places = listed && new Set(listed.map(Number));
  return (i) => (types ? types[i] === 'sparse' : places ? places.has(i) : i >= 3 && i < layers);
}

/** Step 3.5: a gate for each head on attention's result, more heads inside windows, gate and up clamped behind the activation. */
function step(config: ConfigReader): Architecture {
  const read = readSizes(config);
  // `num_attention_groups` is the checkpoint's name for key heads.
  const keyHeads = config.size(
    config.has('num_attention_groups') ? 'num_attention_groups' : 'num_key_value_heads',
  );
  const sizes: Sizes = { ...read, keyValueHeads: keyHeads, activation: 'silu' };
  const bias = config.flag(false, 'attention_bias');
  const other = config.nested('', 'attention_other_setting').sizeOr(sizes.heads, 'num_attention_heads');
  const inWindows = config.sizeOr(other, 'num_sliding_attention_heads');
  const types = config.list('layer_types');
  const window = config.count(0, 'sliding_window');
  const mlpBias = config.flag(false, 'mlp_bias');
  const counted = config.fixed({
    n_routed_experts: config.size(config.has('moe_num_experts') ? 'moe_num_experts' : 'n_routed_experts'),
    num_experts_per_tok: config.size(config.has('moe_top_k') ? 'moe_top_k' : 'num_experts_per_tok'),
  });
  const moe = sigmoidMoe(counted, sizes, 0, false);
  const mlp = (name: string, inner: number): Block => {
    return (t, x) =>
      gatedMlp(t, x, { name, inner, activation: sizes.activation, bias: mlpBias, clamps: 'behind' });
  };
  return sigmoidDecoder(sizes, {
    attention: (w) =>
      llamaAttention(sizes, {
        heads: w === undefined ? sizes.heads : inWindows,
        bias: { qkv: bias, output: bias },
        norm: { kind: 'head', style: 'gemma' },
        window: w,
        gate: 'g_proj',
        gatesHeads: true,
        joinsRotated: true,
      }),
    windowOf: (i) => (types?.[i] === 'sliding_attention' && window > 0 ? window : undefined),
    moe: {
      ...moe,
      experts: { ...moe.experts, clamps: 'behind' },
      shared: {
        name: 'mlp.shared_experts',
        inner: 0,
        first: true,
        block: mlp('mlp.shared_experts', config.size('share_expert_dim')),
      },
      scaledSum: true,
    },
    dense: mlp('mlp', sizes.inner),
    isSparse: stepExperts(config, sizes.layers),
    normStyle: 'gemma',
  });
}

/** GLM-4.7-Flash: DeepSeek's latent attention. */
function glm4MoeLite(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const attention = deepseekAttention(config, sizes);
  return sigmoidDecoder(sizes, {
    attention: () => attention,
    moe: sigmoidMoe(config, sizes, config.count(1, 'n_shared_experts')),
    isSparse: sparseFrom(config, 1),
  });
}

/** Whether a layer ranks tokens itself or takes over the last choice: as listed, or every so many layers (`GlmMoeDsaConfig`). */
function ranksTokens(config: ConfigReader): (layer: number) => boolean {
  if (config.modelType === 'deepseek_v32') return () => true;
  const listed = config.list('indexer_types');
  const pattern = config.isText('index_topk_pattern')
    ? [...config.text('', 'index_topk_pattern')]
    : config.list('index_topk_pattern');
  const every = Math.max(1, config.count(1, 'index_topk_freq'));
  const offset = config.count(2, 'index_skip_topk_offset');
  return (i) => {
    if (listed) return listed[i] === 'full';
    if (pattern) return pattern[i] === 'F' || pattern[i] === 'full';
    return Math.max(i - offset + 1, 0) % every === 0;
  };
}

/** DeepSeek V3.2 and GLM-5: DeepSeek V3's latent attention over the tokens that an indexer has chosen. */
function chosenTokens(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const indexer = {
    heads: config.size('index_n_heads'),
    dim: config.size('index_head_dim'),
    top: config.size('index_topk'),
  };
  const ranks = ranksTokens(config);
  const isSparse = sparseFrom(config, config.count(3, 'first_k_dense_replace'));
  const routed = mixtureOfExperts(sigmoidMoe(config, sizes, config.count(1, 'n_shared_experts')));
  const dense = llamaMlp(sizes);
  return sparseDecoder<string>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      return `${ranks(i) ? 'own' : 'shared'}/${isSparse(i) ? 'sparse' : 'dense'}`;
    }),
    mixer: (kind) => deepseekAttention(config, sizes, { ...indexer, own: kind.startsWith('own') }),
    feedForward: (kind) => (kind.endsWith('sparse') ? routed : dense),
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    notes: [
      say('the tokens that each one sees are chosen by a mask over all of them, as transformers does it'),
    ],
  });
}

/** AFMoE (Trinity): four norms, a gate on attention's result, rotation inside windows only. */
function afmoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const period = config.sizeOr(4, 'global_attn_every_n_layers');
  const moe = sigmoidMoe(config, sizes, config.count(2, 'num_shared_experts'), false);
  return sigmoidDecoder(sizes, {
    attention: (window) =>
      llamaAttention(sizes, {
        bias: { qkv: bias, output: bias },
        norm: { kind: 'head', style: 'olmo' },
        rotary: window === undefined ? 0 : 1,
        window,
        gate: 'gate_proj',
      }),
    windowOf: alternatingWindow(config, sizes.layers, period),
    moe: {
      ...moe,
      router: { ...moe.router, name: 'mlp.router.gate', correction: 'mlp.expert_bias' },
      shared: moe.shared && { ...moe.shared, first: true },
    },
    isSparse: (i) => i >= config.count(0, 'num_dense_layers'),
    norms: ['input_layernorm', 'pre_mlp_layernorm'],
    normsAfter: ['post_attention_layernorm', 'post_mlp_layernorm'],
    normStyle: 'olmo',
    scaledEmbedding: config.flag(false, 'mup_enabled'),
  });
}

/** Which layers of Kimi Linear look at all tokens: as listed, or in the checkpoint's section, counted from 1 (`KimiLinearConfig`). */
function seesAll(config: ConfigReader, section: ConfigReader): (layer: number) => boolean {
  const types = config.list('layer_types');
  const listed = section.list('full_attn_layers');
  return (i) => {
    if (types) return types[i] === 'full_attention';
    return listed ? listed.includes(i + 1) : i > 0 && i % 4 === 0;
  };
}

/** Kimi Linear: delta attention with a decay for each channel, and between its layers latent attention without positions. */
function kimiLinear(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const section = config.nested('', 'linear_attn_config');
  const all = seesAll(config, section);
  const isSparse = sparseFrom(config, config.count(1, 'first_k_dense_replace'));
  const shared = config.count(1, 'num_shared_experts', 'n_shared_experts');
  const routed = mixtureOfExperts(sigmoidMoe(config, sizes, shared));
  const dense = llamaMlp(sizes);
  const attention = deepseekAttention(config, sizes);
  const delta = kimiDeltaAttention({
    module: 'self_attn',
    hidden: sizes.hidden,
    heads: section.sizeOr(config.size('linear_num_heads'), 'num_heads'),
    headDim: section.sizeOr(config.size('linear_head_dim'), 'head_dim'),
    kernel: section.sizeOr(config.size('linear_conv_kernel_dim'), 'short_conv_kernel_size'),
  });
  return sparseDecoder<string>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      return `${all(i) ? 'all' : 'delta'}/${isSparse(i) ? 'sparse' : 'dense'}`;
    }),
    mixer: (kind) => (kind.startsWith('all') ? attention : delta),
    feedForward: (kind) => (kind.endsWith('sparse') ? routed : dense),
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  dots1,
  solar_open: solarOpen,
  exaone_moe: exaoneMoe,
  glm4_moe_lite: glm4MoeLite,
  afmoe,
  hy_v3: hunyuan3,
  mimo_v2_flash: mimoFlash,
  step3p5: step,
  kimi_linear: kimiLinear,
  deepseek_v32: chosenTokens,
  glm_moe_dsa: chosenTokens,
};

export const sigmoidExperts: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? dots1)(config),
};
