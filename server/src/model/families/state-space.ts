import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, rms } from '../layers/block';
import { gatedDeltaNet } from '../layers/gated-delta-net';
import { type Mamba2Spec, mamba, mamba2 } from '../layers/mamba';
import { gatedMlp, plainMlp } from '../layers/mlp';
import { mixtureOfExperts } from '../layers/moe';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention, llamaMlp } from './llama-parts';
import { figuresOf, layersOfKinds, readSizes, type Sizes } from './sizes';
import { besideExperts, graniteExperts, graniteShared } from './sparse';
import { sparseDecoder } from './sparse-decoder';

/** `x + mixer(norm(x))`; Mamba keeps the sum in fp32 where `residual_in_fp32` is set. */
function mixerLayer(norm: Block, mixer: Block, wide: boolean): Block {
  return (t, x) =>
    t.scope(() => {
      const residual = t.hold(wide ? t.cast(x, 'fp32', 'residual_in_fp32') : x);
      const normed = norm(t, t.cast(x, t.settings.weightDtype, 'norm_input'));
      return t.add(residual, mixer(t, normed), 'residual');
    });
}

/** A model of mixers only, as Mamba and Nemotron-H are. */
function mixerModel(sizes: Sizes, layers: readonly Block[], embedding: string): Architecture {
  return {
    figures: figuresOf(sizes),
    stages: decoderStages({
      embedding: { name: embedding, rows: sizes.vocabulary, columns: sizes.hidden },
      layers,
      // Sums in fp32 are cast before the head (`MambaForCausalLM.forward`).
      finalNorm: (t, x) => t.cast(rms('norm_f')(t, x), t.settings.weightDtype, 'norm_f.to'),
      head: {
        name: 'lm_head',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? `${embedding}.weight` : undefined,
      },
    }),
  };
}

/** Mamba models have no attention heads; the figures show none. */
function mambaSizes(config: ConfigReader): Sizes {
  return {
    hidden: config.size('hidden_size', 'd_model'),
    layers: config.size('num_hidden_layers', 'n_layer'),
    heads: 0,
    keyValueHeads: 0,
    headDim: 0,
    inner: 0,
    vocabulary: config.size('vocab_size'),
    activation: config.text('silu', 'hidden_act'),
    tied: config.flag(true, 'tie_word_embeddings'),
    attentionDropout: 0,
  };
}

function timeStepRank(config: ConfigReader, hidden: number, name: string): number {
  return config.isText(name) ? Math.ceil(hidden / 16) : config.sizeOr(Math.ceil(hidden / 16), name);
}

function buildMamba(config: ConfigReader): Architecture {
  const sizes = mambaSizes(config);
  const mixer = mamba({
    module: 'mixer',
    hidden: sizes.hidden,
    inner: config.sizeOr(sizes.hidden * config.sizeOr(2, 'expand'), 'intermediate_size'),
    state: config.size('state_size'),
    kernel: config.size('conv_kernel'),
    rank: timeStepRank(config, sizes.hidden, 'time_step_rank'),
    convBias: config.flag(true, 'use_conv_bias'),
    bias: config.flag(false, 'use_bias'),
  });
  const layer = mixerLayer(rms('norm'), mixer, config.flag(true, 'residual_in_fp32'));
  return mixerModel(sizes, new Array<Block>(sizes.layers).fill(layer), 'embeddings');
}

function buildMamba2(config: ConfigReader): Architecture {
  const sizes = mambaSizes(config);
  const mixer = mamba2({
    module: 'mixer',
    hidden: sizes.hidden,
    inner: sizes.hidden * config.sizeOr(2, 'expand'),
    heads: config.size('num_heads'),
    groups: config.size('n_groups'),
    state: config.size('state_size'),
    kernel: config.size('conv_kernel'),
    // `configuration_mamba2.py`.
    chunk: config.sizeOr(256, 'chunk_size'),
    convBias: config.flag(true, 'use_conv_bias'),
    bias: config.flag(false, 'use_bias'),
  });
  const layer = mixerLayer(rms('norm'), mixer, config.flag(true, 'residual_in_fp32'));
  return mixerModel(sizes, new Array<Block>(sizes.layers).fill(layer), 'embeddings');
}

type NemotronKind = 'mamba' | 'attention' | 'mlp' | 'moe';

/** What a letter of `hybrid_override_pattern` or a name in `layers_block_type` stands for. */
const NEMOTRON_KINDS: Readonly<Record<string, NemotronKind>> = {
  M: 'mamba',
  '*': 'attention',
  '-': 'mlp',
  E: 'moe',
  mamba: 'mamba',
  linear_attention: 'mamba',
  attention: 'attention',
  full_attention: 'attention',
  mlp: 'mlp',
  moe: 'moe',
};

function nemotronKinds(config: ConfigReader): NemotronKind[] {
  const pattern = config.isText('hybrid_override_pattern')
    ? [...config.text('', 'hybrid_override_pattern')]
    : config.list('layers_block_type', 'layer_types');
  if (!pattern) throw new ConfigError(say('the config has no "hybrid_override_pattern"'));
  return pattern.map((item) => {
    const kind = typeof item === 'string' ? NEMOTRON_KINDS[item] : undefined;
    if (!kind)
      throw new ConfigError(say('layers of kind {0} are not supported in Nemotron-H', JSON.stringify(item)));
    return kind;
  });
}

/** Nemotron 3's experts: two linear layers each, in a width of their own where `moe_latent_size` states one. */
function nemotronExperts(config: ConfigReader, activation: string, bias: boolean): Block {
  const latent = config.count(0, 'moe_latent_size');
  return mixtureOfExperts({
    router: {
      name: 'mixer.gate',
      score: 'sigmoid',
      wide: true,
      correction: 'mixer.gate.e_score_correction_bias',
      fp32Weights: true,
    },
    experts: {
      name: 'mixer.experts',
      count: config.size('n_routed_experts', 'num_local_experts'),
      chosen: config.size('num_experts_per_tok'),
      inner: config.size('moe_intermediate_size'),
      activation,
      plain: true,
      names: { gateUp: 'up_proj', down: 'down_proj' },
      latent:
        latent > 0
          ? { width: latent, into: 'mixer.fc1_latent_proj', outOf: 'mixer.fc2_latent_proj', bias }
          : undefined,
    },
    shared: {
      name: 'mixer.shared_experts',
      inner: config.size('moe_shared_expert_intermediate_size'),
      bias,
      projections: { up: 'up_proj', down: 'down_proj' },
    },
  });
}

/**
 * Nemotron-H and Nemotron 3: each layer is one mixer, a Mamba 2, an attention without positions, a squared-ReLU MLP or
 * experts.
 */
function nemotronH(config: ConfigReader): Architecture {
  const kinds = nemotronKinds(config);
  const sizes = readSizes(config, kinds.length);
  const heads = config.size('mamba_num_heads');
  const bias = config.flag(false, 'attention_bias');
  const activation = config.text('relu2', 'mlp_hidden_act');
  const inMlp = config.flag(false, 'mlp_bias');
  const mixers: Readonly<Record<Exclude<NemotronKind, 'moe'>, Block>> = {
    mamba: mamba2({
      module: 'mixer',
      hidden: sizes.hidden,
      inner: heads * config.size('mamba_head_dim'),
      heads,
      groups: config.size('n_groups'),
      state: config.size('ssm_state_size'),
      kernel: config.size('conv_kernel'),
      chunk: config.sizeOr(128, 'chunk_size'),
      convBias: config.flag(true, 'use_conv_bias'),
      bias: config.flag(false, 'use_bias', 'mamba_proj_bias'),
    }),
    attention: llamaAttention(sizes, { module: 'mixer', rotary: 0, bias: { qkv: bias, output: bias } }),
    mlp: (t, x) =>
      plainMlp(t, x, {
        name: 'mixer',
        inner: sizes.inner,
        activation,
        bias: inMlp,
        projections: { up: 'up_proj', down: 'down_proj' },
      }),
  };
  const layers = layersOfKinds(kinds, (kind) => {
    const mixer = kind === 'moe' ? nemotronExperts(config, activation, inMlp) : mixers[kind];
    return mixerLayer(rms('norm'), mixer, false);
  });
  return mixerModel(sizes, layers, 'embeddings');
}

/** Jamba: one attention layer in eight, experts on every other layer. */
function jamba(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const at = (i: number, name: string) =>
    i % config.size(`${name}_layer_period`) === config.count(0, `${name}_layer_offset`);
  type Kind = `${'attention' | 'mamba'}/${'sparse' | 'dense'}`;
  const experts = config.size('num_experts');
  const kinds = Array.from({ length: sizes.layers }, (_, i): Kind => {
    const sparse = experts > 1 && at(i, 'expert');
    return `${at(i, 'attn') ? 'attention' : 'mamba'}/${sparse ? 'sparse' : 'dense'}`;
  });
  const attention = llamaAttention(sizes, { rotary: 0 });
  const mixer = mamba({
    module: 'mamba',
    hidden: sizes.hidden,
    inner: sizes.hidden * config.size('mamba_expand'),
    state: config.size('mamba_d_state'),
    kernel: config.size('mamba_d_conv'),
    rank: timeStepRank(config, sizes.hidden, 'mamba_dt_rank'),
    convBias: config.flag(true, 'mamba_conv_bias'),
    bias: config.flag(false, 'mamba_proj_bias'),
    normed: true,
  });
  const sparse = mixtureOfExperts({
    router: { name: 'feed_forward.router', score: 'softmax' },
    experts: {
      name: 'feed_forward.experts',
      count: experts,
      chosen: config.size('num_experts_per_tok'),
      inner: sizes.inner,
      activation: sizes.activation,
    },
  });
  const dense: Block = (t, x) =>
    gatedMlp(t, x, { name: 'feed_forward', inner: sizes.inner, activation: sizes.activation });
  return sparseDecoder<Kind>(sizes, {
    kinds,
    mixer: (kind) => (kind.startsWith('attention') ? attention : mixer),
    feedForward: (kind) => (kind.endsWith('sparse') ? sparse : dense),
    norms: ['input_layernorm', 'pre_ff_layernorm'],
    finalNorm: 'final_layernorm',
    embedding: 'embed_tokens',
  });
}

/** Granite 4: Mamba 2 layers with some attention, routed experts beside a shared MLP. */
function graniteHybrid(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const types = config.list('layer_types', 'layers_block_type');
  const bias = config.flag(false, 'attention_bias');
  const rotates = config.text('nope', 'position_embedding_type') === 'rope';
  const attention = llamaAttention(sizes, {
    rotary: rotates ? 1 : 0,
    bias: { qkv: bias, output: bias },
  });
  const mixer = mamba2(mamba2Of(config, sizes.hidden, sizes.hidden * config.sizeOr(2, 'mamba_expand')));
  const shared = graniteShared(sizes, config.size('shared_intermediate_size'));
  const sparse =
    config.count(0, 'num_local_experts') > 0 ? mixtureOfExperts(graniteExperts(config, sizes)) : undefined;
  const feedForward = sparse ? besideExperts(sparse, shared) : shared;
  return sparseDecoder<'mamba' | 'attention'>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      const type = types?.[i];
      return type === 'attention' || type === 'full_attention' ? 'attention' : 'mamba';
    }),
    mixer: (kind) => (kind === 'attention' ? attention : mixer),
    feedForward: () => feedForward,
    norms: ['input_layernorm', 'post_attention_layernorm'],
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    scaledEmbedding: true,
    scaledBranches: true,
    scaledLogits: true,
    widenedLogits: true,
  });
}

/** Qwen3-Next and Qwen3.5: gated delta nets with a gated attention every fourth layer; many small experts, or an MLP. */
function qwenDelta(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const types = config.list('layer_types');
  const interval = config.sizeOr(4, 'full_attention_interval');
  const bias = config.flag(false, 'attention_bias');
  const attention = llamaAttention(sizes, {
    bias: { qkv: bias, output: bias },
    norm: { kind: 'head', style: 'gemma' },
    rotary: config.rotaryShare(0.25),
    gate: true,
  });
  const mixer = gatedDeltaNet({
    module: 'linear_attn',
    hidden: sizes.hidden,
    keyHeads: config.size('linear_num_key_heads'),
    valueHeads: config.size('linear_num_value_heads'),
    keyDim: config.size('linear_key_head_dim'),
    valueDim: config.size('linear_value_head_dim'),
    kernel: config.size('linear_conv_kernel_dim'),
    separate: config.modelType !== 'qwen3_next',
  });
  const dense = llamaMlp(sizes);
  const sparse = config.modelType === 'qwen3_5_text' ? undefined : qwenExperts(config, sizes);
  // Qwen3-Next has an MLP where a layer is named, or left out by the step.
  const onlyMlp = new Set(config.modelType === 'qwen3_next' ? config.list('mlp_only_layers') : []);
  const step = config.modelType === 'qwen3_next' ? config.sizeOr(1, 'decoder_sparse_step') : 1;
  const hasExperts = (i: number) => sparse !== undefined && !onlyMlp.has(i) && (i + 1) % step === 0;
  return sparseDecoder<string>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      const full = types ? types[i] === 'full_attention' : (i + 1) % interval === 0;
      return `${full ? 'full' : 'linear'}/${hasExperts(i) ? 'sparse' : 'dense'}`;
    }),
    mixer: (kind) => (kind.startsWith('full') ? attention : mixer),
    feedForward: (kind) => (kind.endsWith('sparse') ? sparse : dense),
    norms: ['input_layernorm', 'post_attention_layernorm'],
    normOf: (name) => rms(name, 'gemma'),
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
}

function qwenExperts(config: ConfigReader, sizes: Sizes): Block {
  return mixtureOfExperts({
    router: { name: 'mlp.gate', score: 'softmax' },
    experts: {
      name: 'mlp.experts',
      count: config.size('num_experts'),
      chosen: config.size('num_experts_per_tok'),
      inner: config.size('moe_intermediate_size'),
      activation: sizes.activation,
    },
    shared: {
      name: 'mlp.shared_expert',
      inner: config.size('shared_expert_intermediate_size'),
      gate: 'mlp.shared_expert_gate',
      first: true,
    },
  });
}

function mamba2Of(config: ConfigReader, hidden: number, inner: number): Mamba2Spec {
  return {
    module: 'mamba',
    hidden,
    inner,
    heads: config.size('mamba_n_heads'),
    groups: config.size('mamba_n_groups'),
    state: config.size('mamba_d_state'),
    kernel: config.size('mamba_d_conv'),
    // `configuration_bamba.py`.
    chunk: config.sizeOr(256, 'mamba_chunk_size'),
    convBias: config.flag(true, 'mamba_conv_bias'),
    bias: config.flag(false, 'mamba_proj_bias'),
  };
}

/** Bamba: Mamba 2 layers, attention on the layers that `attn_layer_indices` names, an MLP on each. */
function bamba(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const named = config.list('attn_layer_indices') ?? [];
  const bias = config.flag(false, 'attention_bias');
  const attention = llamaAttention(sizes, {
    bias: { qkv: bias, output: bias },
    rotary: config.rotaryShare(0.5),
  });
  const mixer = mamba2(mamba2Of(config, sizes.hidden, sizes.hidden * config.sizeOr(2, 'mamba_expand')));
  const mlp = hybridMlp(config, sizes);
  return sparseDecoder<'mamba' | 'attention'>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => (named.includes(i) ? 'attention' : 'mamba')),
    mixer: (kind) => (kind === 'attention' ? attention : mixer),
    feedForward: () => mlp,
    norms: ['input_layernorm', 'pre_ff_layernorm'],
    finalNorm: 'final_layernorm',
    embedding: 'embed_tokens',
  });
}

function hybridMlp(config: ConfigReader, sizes: Sizes): Block {
  const bias = config.flag(false, 'mlp_bias');
  return (t, x) =>
    gatedMlp(t, x, { name: 'feed_forward', inner: sizes.inner, activation: sizes.activation, bias });
}

/** Falcon-H1: attention and Mamba 2 side by side in every layer, with constants on everything. */
function falconH1(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const attention = llamaAttention(sizes, { bias: { qkv: bias, output: bias } });
  const inner = config.explicitNull('mamba_d_ssm')
    ? sizes.hidden * config.sizeOr(2, 'mamba_expand')
    : config.size('mamba_d_ssm');
  const mixer = mamba2({
    ...mamba2Of(config, sizes.hidden, inner),
    outputBias: config.flag(false, 'projectors_bias'),
    gatedNorm: config.flag(false, 'mamba_rms_norm'),
    scaled: true,
  });
  const both: Block = (t, x) =>
    t.scope(() => {
      const scanned = t.hold(t.scale(mixer(t, x), 'ssm_out_multiplier'));
      const attended = attention(t, t.scale(x, 'attention_in_multiplier'));
      return t.add(scanned, t.scale(attended, 'attention_out_multiplier'), 'mixers');
    });
  const mlp = hybridMlp(config, sizes);
  return sparseDecoder<'both'>(sizes, {
    kinds: new Array<'both'>(sizes.layers).fill('both'),
    mixer: () => both,
    feedForward: () => (t, x) => t.scale(mlp(t, x), 'down_multiplier'),
    norms: ['input_layernorm', 'pre_ff_layernorm'],
    finalNorm: 'final_layernorm',
    embedding: 'embed_tokens',
    scaledEmbedding: true,
    scaledLogits: true,
  });
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  mamba: buildMamba,
  mamba2: buildMamba2,
  nemotron_h: nemotronH,
  jamba,
  granitemoehybrid: graniteHybrid,
  qwen3_next: qwenDelta,
  qwen3_5_text: qwenDelta,
  qwen3_5_moe_text: qwenDelta,
  bamba,
  falcon_h1: falconH1,
};

export const stateSpace: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? buildMamba)(config),
};
