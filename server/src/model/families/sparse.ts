import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, layerNormed, rms } from '../layers/block';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { gatedMlp } from '../layers/mlp';
import { type MoeSpec, mixtureOfExperts } from '../layers/moe';
import { deepseekAttention } from './deepseek-attention';
import type { Architecture, ModelFamily } from './family';
import { alternatingWindow, qwenWindow, wholeWindow } from './llama';
import { llamaAttention } from './llama-parts';
import { readSizes, type Sizes } from './sizes';
import { sparseDecoder } from './sparse-decoder';

type Kind = 'sparse' | 'dense';

const NORMS = ['input_layernorm', 'post_attention_layernorm'] as const;

function denseMlp(sizes: Sizes, inner = sizes.inner, name = 'mlp', bias = false): Block {
  return (t, x) => gatedMlp(t, x, { name, inner, activation: sizes.activation, bias });
}

/** The parts of a Llama-like decoder with experts. */
interface Parts {
  readonly attention: Block;
  readonly moe: MoeSpec;
  /** Which layers have experts. */
  readonly isSparse?: (layer: number) => boolean;
  /** Biases in MLPs without experts, and in the head (ERNIE's `use_bias` is both). */
  readonly bias?: boolean;
  readonly headBias?: boolean;
}

function llamaWithExperts(sizes: Sizes, parts: Parts): Architecture {
  const isSparse = parts.isSparse ?? (() => true);
  const experts = mixtureOfExperts(parts.moe);
  const dense = denseMlp(sizes, sizes.inner, 'mlp', parts.bias);
  return sparseDecoder<Kind>(sizes, {
    headBias: parts.headBias,
    kinds: Array.from({ length: sizes.layers }, (_, i) => (isSparse(i) ? 'sparse' : 'dense')),
    mixer: () => parts.attention,
    feedForward: (kind) => (kind === 'sparse' ? experts : dense),
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

function expertsOf(config: ConfigReader, sizes: Sizes, inner: number): MoeSpec['experts'] {
  return {
    name: 'mlp.experts',
    count: config.size('num_local_experts', 'num_experts', 'n_routed_experts', 'moe_num_experts'),
    chosen: config.size('num_experts_per_tok', 'moe_k', 'experts_per_token'),
    inner,
    activation: sizes.activation,
  };
}

/** Mixtral. */
function mixtral(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, { window: wholeWindow(config)?.(0) }),
    moe: {
      router: { name: 'mlp.gate', score: 'softmax', fp32WeightsOfStacks: true },
      experts: expertsOf(config, sizes, sizes.inner),
    },
  });
}

/** Layers with experts in Qwen: every `decoder_sparse_step`-th that `mlp_only_layers` does not name. */
function qwenSparse(config: ConfigReader): (layer: number) => boolean {
  const step = config.sizeOr(1, 'decoder_sparse_step');
  const dense = new Set(config.list('mlp_only_layers') ?? []);
  return (i) => !dense.has(i) && (i + 1) % step === 0;
}

/** Qwen 1.5 and 2 MoE: a gated shared expert beside the routed ones. Qwen 3 MoE has none, but normed heads. */
function qwenMoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const third = config.modelType === 'qwen3_moe';
  const bias = third ? config.flag(false, 'attention_bias') : config.flag(true, 'qkv_bias');
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, {
      bias: { qkv: bias, output: third && bias },
      norm: third ? { kind: 'head' } : undefined,
      window: qwenWindow(config)?.(0),
    }),
    moe: {
      router: { name: 'mlp.gate', score: 'softmax' },
      experts: expertsOf(config, sizes, config.size('moe_intermediate_size')),
      shared: third
        ? undefined
        : {
            name: 'mlp.shared_expert',
            inner: config.size('shared_expert_intermediate_size'),
            gate: 'mlp.shared_expert_gate',
            first: true,
          },
    },
    isSparse: qwenSparse(config),
  });
}

/** Mellum: Qwen 3 MoE with windows on the layers that `layer_types` names. */
function mellum(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const windowOf = alternatingWindow(config, sizes.layers, 1);
  const types = config.list('mlp_layer_types');
  const experts = mixtureOfExperts({
    router: { name: 'mlp.gate', score: 'softmax' },
    experts: expertsOf(config, sizes, config.size('moe_intermediate_size')),
  });
  const dense = denseMlp(sizes);
  return sparseDecoder<string>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      return `${windowOf?.(i) ?? 0}/${types && types[i] !== 'sparse' ? 'dense' : 'sparse'}`;
    }),
    mixer: (kind) =>
      llamaAttention(sizes, {
        bias: { qkv: bias, output: bias },
        norm: { kind: 'head' },
        window: Number(kind.split('/')[0]) || undefined,
      }),
    feedForward: (kind) => (kind.endsWith('sparse') ? experts : dense),
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

/** FlexOlmo: OLMo 2's layers, norms behind the branches, with OLMoE's experts. */
function flexOlmo(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const attention = llamaAttention(sizes, {
    bias: { qkv: bias, output: bias },
    norm: { kind: 'full', style: 'olmo' },
  });
  const experts = mixtureOfExperts({
    router: { name: 'mlp.gate', score: 'softmax' },
    experts: expertsOf(config, sizes, sizes.inner),
  });
  return sparseDecoder<Kind>(sizes, {
    kinds: new Array<Kind>(sizes.layers).fill('sparse'),
    mixer: () => attention,
    feedForward: () => experts,
    norms: [],
    normsAfter: ['post_attention_layernorm', 'post_feedforward_layernorm'],
    normOf: (name) => rms(name, 'olmo'),
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

/** Phi-3.5-MoE: layer norms, biases in attention and head, two experts drawn one after the other (`sparsemixer`). */
function phimoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const experts = mixtureOfExperts({
    router: { name: 'mlp.router', score: 'softmax' },
    experts: expertsOf(config, sizes, sizes.inner),
  });
  return sparseDecoder<Kind>(sizes, {
    kinds: new Array<Kind>(sizes.layers).fill('sparse'),
    mixer: () =>
      llamaAttention(sizes, { bias: { qkv: bias, output: bias }, window: wholeWindow(config)?.(0) }),
    feedForward: () => experts,
    norms: NORMS,
    normOf: (name) => layerNormed(name),
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    headBias: config.flag(false, 'lm_head_bias'),
  });
}

/** Hunyuan MoE: an MLP of the experts' width that every token passes, heads normed after the rotation. */
function hunyuanMoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const scalar = (name: string) => {
    const list = config.isList(name) ? config.list(name) : undefined;
    if (list === undefined) return config.size(name);
    if (new Set(list).size > 1) {
      throw new ConfigError(say('"{0}" that differs between layers is not supported', name));
    }
    return typeof list[0] === 'number' ? list[0] : 1;
  };
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, {
      bias: { qkv: bias, output: bias },
      norm: { kind: 'head', names: ['query_layernorm', 'key_layernorm'], afterRotary: true },
    }),
    moe: {
      // Made in fp32 (`HunYuanMoEV1Gate`), and so are its scores.
      router: { name: 'mlp.gate.wg', score: 'softmax', wide: true, fp32Weights: true },
      experts: {
        name: 'mlp.experts',
        count: scalar('num_experts'),
        chosen: scalar('moe_topk'),
        inner: sizes.inner,
        activation: sizes.activation,
      },
      shared: { name: 'mlp.shared_mlp', inner: sizes.inner, first: true },
    },
  });
}

/** OLMoE. */
function olmoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, {
      bias: { qkv: bias, output: bias },
      norm: { kind: 'full' },
      clip: config.has('clip_qkv'),
    }),
    moe: { router: { name: 'mlp.gate', score: 'softmax' }, experts: expertsOf(config, sizes, sizes.inner) },
  });
}

/** MiniMax M2: sigmoid scores with a balancing bias, queries and keys normed over all heads. */
function minimaxM2(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const half = sizes.headDim === 0 ? 1 : config.sizeOr(sizes.headDim, 'rotary_dim') / sizes.headDim;
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, { norm: { kind: 'full' }, rotary: half }),
    moe: {
      router: {
        name: 'mlp.gate',
        score: 'sigmoid',
        correction: 'mlp.e_score_correction_bias',
        fp32Weights: true,
      },
      experts: expertsOf(config, sizes, sizes.inner),
    },
  });
}

/** GLM-4.5: first layers dense, a shared expert, half of each head rotated. */
function glm4Moe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const inner = config.size('moe_intermediate_size');
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, {
      bias: { qkv: config.flag(false, 'attention_bias'), output: false },
      norm: config.flag(false, 'use_qk_norm') ? { kind: 'head' } : undefined,
      rotary: config.rotaryShare(0.5),
    }),
    moe: {
      router: {
        name: 'mlp.gate',
        score: 'sigmoid',
        wide: true,
        correction: 'mlp.gate.e_score_correction_bias',
        fp32Weights: true,
      },
      experts: expertsOf(config, sizes, inner),
      shared: sharedExperts(config.count(1, 'n_shared_experts'), inner),
    },
    isSparse: (i) => i >= config.count(0, 'first_k_dense_replace'),
  });
}

function sharedExperts(count: number, inner: number): MoeSpec['shared'] {
  return count > 0 ? { name: 'mlp.shared_experts', inner: count * inner } : undefined;
}

/** ERNIE 4.5: experts from `moe_layer_start_index` on, shared ones run first. */
function ernieMoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const inner = config.size('moe_intermediate_size');
  const bias = config.flag(false, 'use_bias');
  const start = config.count(0, 'moe_layer_start_index');
  const last = config.number(-1, 'moe_layer_end_index');
  const end = last < 0 ? sizes.layers - 1 : last;
  const interval = config.sizeOr(1, 'moe_layer_interval');
  const shared = sharedExperts(config.count(0, 'moe_num_shared_experts'), inner);
  return llamaWithExperts(sizes, {
    attention: llamaAttention(sizes, { bias: { qkv: bias, output: bias } }),
    moe: {
      router: {
        name: 'mlp.gate',
        score: 'softmax',
        wide: true,
        correction: 'mlp.gate.moe_statics.e_score_correction_bias',
      },
      experts: expertsOf(config, sizes, inner),
      shared: shared && { ...shared, first: true, bias },
    },
    bias,
    headBias: bias,
    isSparse: (i) => (i + 1) % interval === 0 && i >= start && i <= end,
  });
}

/**
 * ERNIE 4.5 VL: experts of text and, half as many in width or less, experts of images, which no token of text goes through; layers with
 * experts as listed, all but the first by default (transformers 5.23, `Ernie4_5_VLMoeMoeBlock`).
 */
function ernieVision(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  // `Ernie4_5_VLMoeTextConfig`.
  const [ofText = 1536, ofImages = 512] = (config.list('moe_intermediate_size') ?? []).map(Number);
  const bias = config.flag(false, 'use_bias');
  const types = config.list('mlp_layer_types');
  const shared = sharedExperts(config.count(0, 'moe_num_shared_experts'), ofText);
  const experts = (kind: 'text' | 'vision', inner: number): MoeSpec => ({
    router: {
      name: `mlp.${kind}_moe.gate`,
      score: 'softmax',
      wide: true,
      correction: `mlp.${kind}_moe.gate.moe_statics.e_score_correction_bias`,
    },
    experts: { ...expertsOf(config, sizes, inner), name: `mlp.${kind}_moe.experts` },
    shared: kind === 'text' && shared ? { ...shared, first: true, bias } : undefined,
  });
  const dense = denseMlp(sizes, sizes.inner, 'mlp', bias);
  const seeing = mixtureOfExperts(experts('vision', ofImages));
  const reading = mixtureOfExperts(experts('text', ofText));
  const sparse: Block = (t, x) => {
    t.registerWeightsOf((probe) => seeing(probe, probe.input(x.shape, x.dtype, false, 'image_tokens')));
    return reading(t, x);
  };
  return sparseDecoder<Kind>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) =>
      (types ? types[i] === 'sparse' : i > 0) ? 'sparse' : 'dense',
    ),
    mixer: () => llamaAttention(sizes, { bias: { qkv: bias, output: bias } }),
    feedForward: (kind) => (kind === 'sparse' ? sparse : dense),
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

/** DeepSeek: V1 with plain attention, V2, V3, Kimi K2 and Mistral 4 with latent attention. */
function deepseek(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const inner = config.size('moe_intermediate_size');
  const third = config.modelType === 'deepseek_v3' || config.modelType === 'kimi_k2';
  // Mistral 4 scores in the type of its states.
  const fourth = config.modelType === 'mistral4';
  const bias = config.flag(false, 'attention_bias');
  const attention =
    config.modelType === 'deepseek'
      ? llamaAttention(sizes, { bias: { qkv: bias, output: bias } })
      : deepseekAttention(config, sizes);
  const every = config.sizeOr(1, 'moe_layer_freq');
  const mlpBias = config.modelType === 'deepseek_v2' && config.flag(false, 'mlp_bias');
  const shared = sharedExperts(config.count(0, 'n_shared_experts'), inner);
  return llamaWithExperts(sizes, {
    attention,
    moe: {
      router: third
        ? {
            name: 'mlp.gate',
            score: 'sigmoid',
            wide: true,
            correction: 'mlp.gate.e_score_correction_bias',
            fp32Weights: true,
          }
        : { name: 'mlp.gate', score: 'softmax', wide: !fourth, fp32Weights: !fourth },
      experts: expertsOf(config, sizes, inner),
      shared: shared && { ...shared, bias: mlpBias },
    },
    bias: mlpBias,
    isSparse: (i) => i >= config.count(0, 'first_k_dense_replace') && i % every === 0,
  });
}

/** gpt-oss: biases everywhere, attention sinks, windows on every other layer, a clamped gate. */
function gptOss(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(true, 'attention_bias');
  const windowOf = alternatingWindow(config, sizes.layers, 2);
  const experts = mixtureOfExperts({
    router: { name: 'mlp.router', score: 'chosen', bias: true },
    experts: { ...expertsOf(config, sizes, sizes.inner), bias: true, clamped: true },
  });
  return sparseDecoder<'sliding' | 'full'>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => (windowOf?.(i) ? 'sliding' : 'full')),
    mixer: (kind) =>
      llamaAttention(sizes, {
        bias: { qkv: bias, output: bias },
        sinks: true,
        fp32Softmax: false,
        window: kind === 'sliding' ? config.count(0, 'sliding_window') || undefined : undefined,
      }),
    feedForward: () => experts,
    norms: NORMS,
    // `GptOssRMSNorm` multiplies by the gain in fp32 and casts last.
    normOf: (name) => rms(name, 'olmo'),
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

/** Granite MoE, and with a shared MLP beside the experts `granitemoeshared`. */
function graniteMoe(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const width = config.modelType === 'granitemoeshared' ? config.count(0, 'shared_intermediate_size') : 0;
  const routed = mixtureOfExperts(graniteExperts(config, sizes));
  const experts = width > 0 ? besideExperts(routed, graniteShared(sizes, width)) : routed;
  return sparseDecoder<Kind>(sizes, {
    kinds: new Array<Kind>(sizes.layers).fill('sparse'),
    mixer: () => llamaAttention(sizes, { bias: { qkv: bias, output: bias } }),
    feedForward: () => experts,
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    scaledEmbedding: true,
    scaledBranches: true,
    scaledLogits: true,
    widenedLogits: true,
  });
}

/** The MLP that every token passes beside Granite's experts. */
export function graniteShared(sizes: Sizes, inner: number): Block {
  return fusedGatedMlp({
    name: 'shared_mlp',
    inner,
    activation: sizes.activation,
    gateUp: 'input_linear',
    down: 'output_linear',
  });
}

/** Routed experts and a shared network of the same input, added. Both keep [batch, sequence, hidden]. */
export function besideExperts(experts: Block, shared: Block): Block {
  return (t, x) =>
    t.scope(() => {
      const routed = t.hold(experts(t, x));
      return t.add(routed, shared(t, x), 'moe_sum');
    });
}

/** Granite's experts: the scores of those that were chosen, one inner width for all. */
export function graniteExperts(config: ConfigReader, sizes: Sizes): MoeSpec {
  return {
    router: { name: 'block_sparse_moe.router', score: 'chosen' },
    experts: { ...expertsOf(config, sizes, sizes.inner), name: 'block_sparse_moe.experts' },
  };
}

/** DBRX: joint projections that are clamped, norms without bias. */
function dbrx(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const attention = config.nested('dbrx_attention', 'attn_config');
  const ffn = config.nested('dbrx_ffn', 'ffn_config');
  const sizes: Sizes = { ...read, keyValueHeads: attention.size('kv_n_heads') };
  const experts = mixtureOfExperts({
    router: { name: 'ffn.router.layer', score: 'softmax' },
    experts: {
      name: 'ffn.experts.mlp',
      count: ffn.size('moe_num_experts'),
      chosen: ffn.size('moe_top_k'),
      inner: ffn.size('ffn_hidden_size'),
      activation: 'silu',
      split: { gate: 'w1', up: 'v1', down: 'w2' },
    },
  });
  return sparseDecoder<Kind>(sizes, {
    kinds: new Array<Kind>(sizes.layers).fill('sparse'),
    mixer: () =>
      llamaAttention(sizes, {
        module: 'norm_attn_norm.attn',
        projections: 'Wqkv',
        output: 'out_proj',
        clip: attention.has('clip_qkv'),
        dropout: attention.dropout('attn_pdrop'),
      }),
    feedForward: () => experts,
    norms: ['norm_attn_norm.norm_1', 'norm_attn_norm.norm_2'],
    normOf: (name) => layerNormed(name, false),
    finalNorm: 'norm_f',
    embedding: 'wte',
    layersName: 'blocks',
    dropout: config.dropout('resid_pdrop'),
    embeddingDropout: config.dropout('emb_pdrop'),
  });
}

/** Llama 4's text model: experts on every `interleave_moe_layer_step`-th layer, one shared, chunked attention. */
function llama4Text(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const inner = config.size('intermediate_size');
  const step = config.sizeOr(1, 'interleave_moe_layer_step');
  const named = config.list('moe_layers');
  const noRope = config.list('no_rope_layers');
  const interval = config.sizeOr(4, 'no_rope_layer_interval');
  const chunk = config.count(0, 'attention_chunk_size');
  const bias = config.flag(false, 'attention_bias');
  const norm = config.flag(true, 'use_qk_norm');
  const experts = mixtureOfExperts({
    router: { name: 'feed_forward.router', score: 'sigmoid' },
    experts: { ...expertsOf(config, sizes, inner), name: 'feed_forward.experts', dense: true },
    shared: { name: 'feed_forward.shared_expert', inner },
  });
  const dense = denseMlp(sizes, config.size('intermediate_size_mlp'), 'feed_forward');
  type LayerKind = `${Kind}/${'rope' | 'plain'}`;
  const kinds = Array.from({ length: sizes.layers }, (_, i): LayerKind => {
    const sparse = named ? named.includes(i) : (i + 1) % step === 0;
    const marked = noRope && noRope.length > 0 ? noRope[i] !== 0 : (i + 1) % interval !== 0;
    return `${sparse ? 'sparse' : 'dense'}/${marked ? 'rope' : 'plain'}`;
  });
  return sparseDecoder<LayerKind>(sizes, {
    kinds,
    mixer: (kind) => {
      const rotates = kind.endsWith('rope');
      return llamaAttention(sizes, {
        bias: { qkv: bias, output: bias },
        rotary: rotates ? 1 : 0,
        norm: rotates && norm ? { kind: 'l2', afterRotary: true } : undefined,
        window: rotates && chunk > 0 ? chunk : undefined,
      });
    },
    feedForward: (kind) => (kind.startsWith('sparse') ? experts : dense),
    norms: NORMS,
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    notes: [say("transformers' Llama 4 computes every expert on every token")],
  });
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  mixtral,
  qwen2_moe: qwenMoe,
  qwen3_moe: qwenMoe,
  olmoe,
  minimax_m2: minimaxM2,
  glm4_moe: glm4Moe,
  ernie4_5_moe: ernieMoe,
  ernie4_5_vl_moe_text: ernieVision,
  deepseek,
  deepseek_v2: deepseek,
  deepseek_v3: deepseek,
  kimi_k2: deepseek,
  mistral4: deepseek,
  gpt_oss: gptOss,
  granitemoe: graniteMoe,
  granitemoeshared: graniteMoe,
  mellum,
  flex_olmo: flexOlmo,
  phimoe,
  hunyuan_v1_moe: hunyuanMoe,
  dbrx,
  llama4_text: llama4Text,
};

export const sparse: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? mixtral)(config),
};
