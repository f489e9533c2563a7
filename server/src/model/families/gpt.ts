import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, layerNormed } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { layerNorm as normalize } from '../layers/norm';
import { LLAMA_PROJECTIONS } from '../layers/self-attention';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import type { Architecture, ModelFamily } from './family';
import { wholeWindow } from './llama';
import { LLAMA_ATTENTION } from './llama-parts';
import {
  BIASED,
  DENSE,
  GPT2_LAYERS,
  LLAMA_NAMES,
  plainDecoder,
  plainLayerNorm,
  twoLinears,
} from './plain-decoder';
import { readSizes, type Sizes } from './sizes';

const FC = { up: 'c_fc', down: 'c_proj' };

/** GPT-2 and, with one key and value head for all queries, GPT-BigCode. */
function gpt2(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const multiQuery = config.modelType === 'gpt_bigcode' && config.flag(true, 'multi_query');
  const sizes: Sizes = { ...read, keyValueHeads: multiQuery ? 1 : read.heads };
  const rows = config.size('n_positions', 'n_ctx', 'max_position_embeddings');
  const bigCode = config.modelType === 'gpt_bigcode';
  return plainDecoder(sizes, {
    buffers: (t) => {
      if (bigCode) t.positionMask('bias', rows, true);
      else if (t.settings.behaviours.masksEachGpt2Layer) t.positionMask('attn.bias', rows, false);
    },
    attention: {
      module: 'attn',
      projections: 'c_attn',
      output: 'c_proj',
      bias: BIASED,
      rotary: 0,
      // GPT-BigCode takes the softmax in fp32 whatever its weights are (`modeling_gpt_bigcode.py`: `eager_attention_forward` of
      // 4.57 and newer, `upcast_masked_softmax` of 4.30 to 4.51, by default).
      fp32Softmax: bigCode,
    },
    feedForward: twoLinears('mlp', FC, sizes.inner, sizes.activation, true),
    ...GPT2_LAYERS,
    head: { name: 'lm_head', ownTypeOnce: true },
    dropout: config.dropout('resid_pdrop'),
    embedding: {
      name: 'wte',
      positions: { name: 'wpe', rows },
      dropout: config.dropout('embd_pdrop'),
    },
  });
}

/** GPT-Neo: every other layer sees a window (`attention_types`); queries and keys have no bias. */
function gptNeo(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const window = config.count(256, 'window_size');
  const rows = config.size('max_position_embeddings');
  return plainDecoder(sizes, {
    buffers: (t) => t.positionMask('attn.attention.bias', rows, false),
    attention: {
      module: 'attn.attention',
      projections: LLAMA_PROJECTIONS,
      output: 'out_proj',
      bias: { qkv: false, output: true },
      rotary: 0,
      kernels: 'no-sdpa',
      fp32Scores: true,
      returnsWeights: true,
    },
    feedForward: twoLinears('mlp', FC, sizes.inner, sizes.activation, true),
    ...GPT2_LAYERS,
    windowOf: (i) => (i % 2 === 1 ? window : undefined),
    dropout: config.dropout('resid_dropout'),
    embedding: {
      name: 'wte',
      positions: { name: 'wpe', rows },
      dropout: config.dropout('embed_dropout'),
    },
  });
}

/** OPT: two rows more in the position table; the 350M model norms after the sums and projects its embedding. */
function opt(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const width = config.sizeOr(sizes.hidden, 'word_embed_proj_dim');
  const before = config.flag(true, 'do_layer_norm_before');
  const bias = config.flag(true, 'enable_bias');
  const affine = config.flag(true, 'layer_norm_elementwise_affine');
  const norm = (name: string): Block => (affine ? plainLayerNorm(name) : (t, x) => gainless(t, x, name));
  const project = (name: string, out: number): Block | undefined =>
    width === sizes.hidden ? undefined : (t, x) => t.linear(x, { name, out });
  return plainDecoder(sizes, {
    attention: {
      module: 'self_attn',
      projections: LLAMA_PROJECTIONS,
      output: 'out_proj',
      bias: { qkv: bias, output: bias },
      rotary: 0,
      boundsScores: true,
    },
    feedForward: (t, x) => {
      const up = t.linear(x, { name: 'fc1', out: sizes.inner, bias, split: 'column' });
      const activated =
        sizes.activation === 'relu' ? t.keepOutput(up, 'relu') : t.keepInput(up, sizes.activation);
      return t.linear(activated, { name: 'fc2', out: sizes.hidden, bias, split: 'row' });
    },
    order: before ? 'pre' : 'post',
    inlineFeedForward: true,
    norms: [norm('self_attn_layer_norm'), norm('final_layer_norm')],
    dropout: config.dropout('dropout'),
    embedding: {
      name: 'embed_tokens',
      columns: width,
      after: optPositions(
        project('project_in', sizes.hidden),
        config.size('max_position_embeddings') + 2,
        sizes,
      ),
    },
    finalNorm:
      before && !config.flag(false, '_remove_final_layer_norm') ? norm('final_layer_norm') : undefined,
    beforeHead: project('project_out', width),
    head: { name: 'lm_head', ownTypeOnce: true },
    layers: 'layers',
  });
}

/** `nn.LayerNorm` without gain and bias. */
function gainless(t: Tracer, x: Tensor, name: string): Tensor {
  return normalize(t, x, { name, gain: false });
}

function optPositions(project: Block | undefined, rows: number, sizes: Sizes): Block {
  return (t, x) => {
    const positions = t.input([1, x.shape[1] ?? 1], 'int64', false, 'position_ids');
    const table = t.embedding(positions, { name: 'embed_positions', rows, columns: sizes.hidden });
    return t.add(project ? project(t, x) : x, t.holdInModel(table), 'positions');
  };
}

/** BLOOM: ALiBi, a norm behind the embedding, and an attention of its own without fused kernels. */
function bloom(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const sizes: Sizes = { ...read, keyValueHeads: read.heads, tied: config.flag(true, 'tie_word_embeddings') };
  return plainDecoder(sizes, {
    attention: {
      module: 'self_attention',
      projections: 'query_key_value',
      output: 'dense',
      bias: BIASED,
      rotary: 0,
      kernels: 'eager',
      fusedScores: true,
      returnsWeights: true,
    },
    feedForward: twoLinears('mlp', DENSE, 4 * sizes.hidden, 'bloom_gelu', true),
    order: 'pre',
    norms: [plainLayerNorm('input_layernorm'), plainLayerNorm('post_attention_layernorm')],
    dropout: config.dropout('hidden_dropout'),
    embedding: { name: 'word_embeddings', after: plainLayerNorm('word_embeddings_layernorm') },
    finalNorm: plainLayerNorm('ln_f'),
    head: { name: 'lm_head', ownTypeOnce: true },
    layers: 'h',
  });
}

/** MPT: ALiBi, no biases anywhere, and no fused kernels in transformers' code. */
function mpt(config: ConfigReader): Architecture {
  if (config.flag(false, 'llm_foundry')) return foundryMpt(config);
  const read = readSizes(config);
  const sizes: Sizes = { ...read, keyValueHeads: read.heads, tied: config.flag(true, 'tie_word_embeddings') };
  const attention = config.nested('mpt_attention', 'attn_config');
  const inner = sizes.hidden * config.sizeOr(4, 'expansion_ratio');
  const norm = (name: string) => layerNormed(name, false);
  return plainDecoder(sizes, {
    attention: {
      module: 'attn',
      projections: 'Wqkv',
      output: 'out_proj',
      rotary: 0,
      clip: attention.has('clip_qkv'),
      dropout: attention.dropout('attn_pdrop'),
      kernels: 'eager',
      returnsWeights: true,
    },
    feedForward: twoLinears('ffn', { up: 'up_proj', down: 'down_proj' }, inner, 'gelu', false),
    order: 'pre',
    norms: [norm('norm_1'), norm('norm_2')],
    dropout: attention.dropout('attn_pdrop'),
    embedding: { name: 'wte', dropout: config.dropout('emb_pdrop') },
    finalNorm: norm('norm_f'),
    head: { name: 'lm_head', ownTypeOnce: true },
    layers: 'blocks',
  });
}

/**
 * MPT as LLM Foundry trains it (`models/mpt/modeling_mpt.py` of v0.22.0): learned positions unless it has ALiBi or rotations,
 * biases unless `no_bias`, norms in the low type, any kernel.
 */
function foundryMpt(config: ConfigReader): Architecture {
  const attention = config.nested('mpt_attention', 'attn_config');
  const read = readSizes(config);
  const groups = attention.sizeOr(read.heads, 'kv_n_heads');
  const multiQuery = attention.text('', 'attn_type') === 'multiquery_attention';
  const sizes: Sizes = {
    ...read,
    keyValueHeads: multiQuery ? 1 : groups,
    tied: config.flag(true, 'tie_word_embeddings'),
  };
  const bias = !config.flag(false, 'no_bias');
  const alibi = attention.flag(false, 'alibi');
  const rotary = attention.flag(false, 'rope');
  const learned = config.flag(true, 'learned_pos_emb') && !alibi && !rotary;
  const inner = Math.floor(sizes.hidden * config.number(4, 'expansion_ratio'));
  const kind = config.nested('mpt_ffn', 'ffn_config').text('mptmlp', 'ffn_type');
  // `ffn.py`: the others are experts.
  if (!/^(?:mptmlp|mptglu|te_ln_mlp)$/.test(kind)) throw new ConfigError(say('"{0}" is not supported', kind));
  const gated = kind === 'mptglu';
  const linears = { up: 'up_proj', down: 'down_proj' };
  const norm = (name: string) => layerNormed(name, bias);
  return plainDecoder(sizes, {
    attention: {
      module: 'attn',
      projections: 'Wqkv',
      output: 'out_proj',
      bias: { qkv: bias, output: bias },
      rotary: rotary ? 1 : 0,
      clip: attention.has('clip_qkv'),
      dropout: attention.dropout('attn_pdrop'),
    },
    feedForward: gated
      ? (t, x) => gatedMlp(t, x, { name: 'ffn', inner, activation: 'gelu', bias })
      : twoLinears('ffn', linears, inner, 'gelu', bias),
    order: 'pre',
    norms: [norm('norm_1'), norm('norm_2')],
    dropout: config.dropout('resid_pdrop'),
    embedding: {
      name: 'wte',
      dropout: config.dropout('emb_pdrop'),
      ...(learned ? { positions: { name: 'wpe', rows: config.size('max_seq_len') } } : {}),
    },
    finalNorm: norm('norm_f'),
    head: { name: 'lm_head' },
    layers: 'blocks',
  });
}

/** StarCoder 2. */
function starcoder2(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(true, 'use_bias');
  return plainDecoder(sizes, {
    attention: {
      ...LLAMA_ATTENTION,
      bias: { qkv: bias, output: bias },
    },
    feedForward: twoLinears('mlp', FC, sizes.inner, sizes.activation, bias),
    ...LLAMA_NAMES,
    order: 'pre',
    windowOf: wholeWindow(config),
    dropout: config.dropout('residual_dropout'),
    embedding: { name: 'embed_tokens', dropout: config.dropout('embedding_dropout') },
  });
}

/** Nemotron and Minitron: squared ReLU, layer norms with a gain of `1 + w`, half of each head rotated. */
function nemotron(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const mlpBias = config.flag(false, 'mlp_bias');
  return plainDecoder(sizes, {
    attention: {
      ...LLAMA_ATTENTION,
      bias: { qkv: bias, output: bias },
      rotary: config.rotaryShare(0.5),
    },
    feedForward: twoLinears(
      'mlp',
      { up: 'up_proj', down: 'down_proj' },
      sizes.inner,
      sizes.activation,
      mlpBias,
    ),
    ...LLAMA_NAMES,
    order: 'pre',
  });
}

/** Jais 2: Llama's names around layer norms and an MLP of two linears, biases everywhere. */
function jais2(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(true, 'attention_bias');
  const names = { up: 'up_proj', down: 'down_proj' };
  return plainDecoder(sizes, {
    attention: { ...LLAMA_ATTENTION, bias: { qkv: bias, output: bias } },
    feedForward: twoLinears('mlp', names, sizes.inner, sizes.activation, config.flag(true, 'mlp_bias')),
    ...LLAMA_NAMES,
    order: 'pre',
  });
}

/** Persimmon: GPT-NeoX's projections, squared ReLU, queries and keys normed per head. */
function persimmon(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const sizes: Sizes = { ...read, keyValueHeads: read.heads };
  return plainDecoder(sizes, {
    attention: {
      module: 'self_attn',
      projections: 'query_key_value',
      output: 'dense',
      bias: BIASED,
      rotary: config.rotaryShare(0.5),
      norm: config.flag(true, 'qk_layernorm')
        ? { kind: 'layer', names: ['q_layernorm', 'k_layernorm'] }
        : undefined,
    },
    feedForward: twoLinears('mlp', DENSE, sizes.inner, sizes.activation, true),
    ...LLAMA_NAMES,
    order: 'pre',
    finalNorm: plainLayerNorm('final_layernorm'),
    dropout: config.dropout('hidden_dropout'),
  });
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  gpt2,
  gpt_bigcode: gpt2,
  gpt_neo: gptNeo,
  opt,
  bloom,
  mpt,
  starcoder2,
  nemotron,
  jais2,
  persimmon,
};

export const gpt: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? gpt2)(config),
};
