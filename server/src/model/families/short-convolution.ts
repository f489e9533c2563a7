import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import type { Block } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { mixtureOfExperts } from '../layers/moe';
import { shortConvolution } from '../layers/short-convolution';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention } from './llama-parts';
import { readSizes, type Sizes } from './sizes';
import { sparseDecoder } from './sparse-decoder';

/** Two thirds of `intermediate_size`, times a factor, rounded up to a multiple (`Lfm2MLP`). */
function adjusted(config: ConfigReader, inner: number): number {
  if (!config.flag(true, 'block_auto_adjust_ff_dim')) return inner;
  const multiple = config.sizeOr(256, 'block_multiple_of');
  const scaled = Math.floor(config.number(1, 'block_ffn_dim_multiplier') * Math.floor((2 * inner) / 3));
  return multiple * Math.ceil(scaled / multiple);
}

function kindsOf(config: ConfigReader, layers: number): ('attention' | 'conv')[] {
  const types = config.list('layer_types');
  const full = config.list('full_attn_idxs');
  if (!types && config.modelType === 'lfm2_moe')
    throw new ConfigError(say('the config has no "layer_types"'));
  return Array.from({ length: layers }, (_, i) => {
    if (types) return types[i] === 'conv' ? 'conv' : 'attention';
    return full === undefined || full.includes(i) ? 'attention' : 'conv';
  });
}

/** LFM2: short convolutions with some attention layers; `lfm2_moe` has experts behind its first layers. */
function build(config: ConfigReader): Architecture {
  const sparse = config.modelType === 'lfm2_moe';
  const read = readSizes(config);
  const sizes: Sizes = {
    ...read,
    inner: sparse
      ? read.inner
      : adjusted(config, config.sizeOr(read.inner, 'block_ff_dim', 'intermediate_size')),
    activation: 'silu',
    tied: config.flag(true, 'tie_word_embeddings', 'tie_embedding'),
  };
  const attention = llamaAttention(sizes, {
    output: 'out_proj',
    norm: { kind: 'head', names: ['q_layernorm', 'k_layernorm'] },
  });
  const conv = shortConvolution({
    module: 'conv',
    hidden: sizes.hidden,
    kernel: config.size('conv_L_cache'),
    bias: config.flag(false, 'conv_bias'),
  });
  const projections = { gate: 'w1', up: 'w3', down: 'w2' };
  const dense: Block = (t, x) =>
    gatedMlp(t, x, { name: 'feed_forward', inner: sizes.inner, activation: 'silu', projections });
  const experts = sparse
    ? mixtureOfExperts({
        router: {
          name: 'feed_forward.gate',
          score: 'sigmoid',
          correction: config.flag(true, 'use_expert_bias') ? 'feed_forward.expert_bias' : undefined,
        },
        experts: {
          name: 'feed_forward.experts',
          count: config.size('num_experts'),
          chosen: config.size('num_experts_per_tok'),
          inner: config.size('moe_intermediate_size'),
          activation: 'silu',
        },
      })
    : dense;
  const first = sparse ? config.count(0, 'num_dense_layers') : sizes.layers;
  return sparseDecoder<string>(sizes, {
    kinds: kindsOf(config, sizes.layers).map((kind, i) => `${kind}/${i >= first ? 'sparse' : 'dense'}`),
    mixer: (kind) => (kind.startsWith('attention') ? attention : conv),
    feedForward: (kind) => (kind.endsWith('sparse') ? experts : dense),
    norms: ['operator_norm', 'ffn_norm'],
    finalNorm: 'embedding_norm',
    embedding: 'embed_tokens',
  });
}

export const shortConvolutions: ModelFamily = { modelTypes: ['lfm2', 'lfm2_moe'], build };
