import type { ConfigReader } from '../config';
import { centredNorm } from '../layers/block';
import { LLAMA_PROJECTIONS } from '../layers/self-attention';
import type { Architecture, ModelFamily } from './family';
import { alternatingWindow } from './llama';
import { LLAMA_ATTENTION, llamaMlp } from './llama-parts';
import { BIASED, DENSE, LLAMA_NAMES, plainDecoder, plainLayerNorm, twoLinears } from './plain-decoder';
import { readSizes, type Sizes } from './sizes';

/** Command R: Cohere's layer norm without bias; `cohere2` has windows, and rotates inside them only. */
function cohere(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'attention_bias');
  const second = config.modelType === 'cohere2';
  const period = config.sizeOr(4, 'sliding_window_pattern');
  const windowOf = second ? alternatingWindow(config, sizes.layers, period) : undefined;
  return plainDecoder(sizes, {
    attention: {
      ...LLAMA_ATTENTION,
      bias: { qkv: bias, output: bias },
      norm: !second && config.flag(false, 'use_qk_norm') ? { kind: 'centred' } : undefined,
    },
    feedForward: llamaMlp(sizes),
    order: 'parallel',
    norms: [centredNorm('input_layernorm', [sizes.hidden])],
    windowOf,
    rotates: windowOf && ((i) => windowOf(i) !== undefined),
    embedding: { name: 'embed_tokens' },
    finalNorm: centredNorm('norm', [sizes.hidden]),
    head: { name: 'lm_head', scale: true },
    layers: 'layers',
  });
}

/** GPT-J: one norm for both branches, a head with bias. */
function gptj(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  return plainDecoder(sizes, {
    attention: {
      module: 'attn',
      projections: LLAMA_PROJECTIONS,
      output: 'out_proj',
      rotary: config.sizeOr(sizes.headDim, 'rotary_dim') / sizes.headDim,
      outputDropout: config.dropout('resid_pdrop'),
      kernels: 'no-sdpa',
      fp32Scores: true,
      returnsWeights: true,
    },
    feedForward: twoLinears('mlp', { up: 'fc_in', down: 'fc_out' }, sizes.inner, sizes.activation, true),
    order: 'parallel',
    norms: [plainLayerNorm('ln_1')],
    embedding: { name: 'wte', dropout: config.dropout('embd_pdrop') },
    finalNorm: plainLayerNorm('ln_f'),
    head: { name: 'lm_head', bias: true },
    layers: 'h',
  });
}

/** GPT-NeoX and Pythia: two norms on the same input; `use_parallel_residual: false` puts the MLP behind. */
function gptNeox(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(true, 'attention_bias');
  return plainDecoder(sizes, {
    attention: {
      module: 'attention',
      projections: 'query_key_value',
      output: 'dense',
      bias: { qkv: bias, output: bias },
      rotary: config.rotaryShare(0.25),
    },
    feedForward: twoLinears('mlp', DENSE, sizes.inner, sizes.activation, true),
    order: config.flag(true, 'use_parallel_residual') ? 'parallel' : 'pre',
    norms: [plainLayerNorm('input_layernorm'), plainLayerNorm('post_attention_layernorm')],
    dropout: config.dropout('hidden_dropout'),
    embedding: { name: 'embed_in', dropout: config.dropout('hidden_dropout') },
    finalNorm: plainLayerNorm('final_layer_norm'),
    head: { name: 'embed_out', ownTypeOnce: true },
    layers: 'layers',
  });
}

/** Falcon: 7B shares a norm and one key-value head, 40B and 180B have two norms and groups, RW is sequential. */
function falcon(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const grouped = config.flag(false, 'new_decoder_architecture');
  const parallel = grouped || config.flag(true, 'parallel_attn');
  const multiQuery = config.flag(true, 'multi_query');
  let keyValueHeads = read.heads;
  if (grouped) keyValueHeads = config.sizeOr(read.heads, 'num_kv_heads', 'n_head_kv');
  else if (multiQuery) keyValueHeads = 1;
  const sizes: Sizes = { ...read, keyValueHeads, tied: config.flag(true, 'tie_word_embeddings') };
  const bias = config.flag(false, 'bias');
  const twoNorms = grouped && config.count(2, 'num_ln_in_parallel_attn') === 2;
  const one = [plainLayerNorm('input_layernorm')] as const;
  const sequential = [plainLayerNorm('input_layernorm'), plainLayerNorm('post_attention_layernorm')] as const;
  return plainDecoder(sizes, {
    attention: {
      module: 'self_attention',
      projections: 'query_key_value',
      output: 'dense',
      bias: { qkv: bias, output: bias },
      rotary: config.flag(false, 'alibi') ? 0 : 1,
      // `falcon/modeling_falcon.py` of v4.35.2: without ALiBi.
      ...(config.flag(false, 'alibi') ? {} : { kernels: 'calls-sdpa' as const }),
      grouping: grouped ? 'repeat' : 'broadcast',
      scaledInPlace: true,
      fp32Softmax: false,
      returnsWeights: true,
    },
    feedForward: twoLinears('mlp', DENSE, sizes.inner, config.text('gelu', 'activation'), bias),
    order: parallel ? 'parallel' : 'pre',
    norms: twoNorms ? [plainLayerNorm('ln_attn'), plainLayerNorm('ln_mlp')] : parallel ? one : sequential,
    dropout: config.dropout('hidden_dropout'),
    embedding: { name: 'word_embeddings' },
    finalNorm: plainLayerNorm('ln_f'),
    head: { name: 'lm_head', ownTypeOnce: true },
    layers: 'h',
  });
}

/** Phi 1, 1.5 and 2. */
function phi(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  return plainDecoder(sizes, {
    attention: {
      module: 'self_attn',
      projections: LLAMA_PROJECTIONS,
      output: 'dense',
      bias: BIASED,
      rotary: config.rotaryShare(0.5),
      norm: config.flag(false, 'qk_layernorm')
        ? { kind: 'layer', names: ['q_layernorm', 'k_layernorm'] }
        : undefined,
    },
    feedForward: twoLinears('mlp', { up: 'fc1', down: 'fc2' }, sizes.inner, sizes.activation, true),
    order: 'parallel',
    norms: [plainLayerNorm('input_layernorm')],
    dropout: config.dropout('resid_pdrop'),
    embedding: { name: 'embed_tokens', dropout: config.dropout('embd_pdrop') },
    finalNorm: plainLayerNorm('final_layernorm'),
    head: { name: 'lm_head', bias: true },
    layers: 'layers',
  });
}

/** StableLM: gated MLP, layer norms, a quarter of each head rotated; the 12B model is parallel. */
function stablelm(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const parallel = config.flag(false, 'use_parallel_residual');
  return plainDecoder(sizes, {
    attention: {
      ...LLAMA_ATTENTION,
      bias: { qkv: config.flag(false, 'use_qkv_bias'), output: false },
      rotary: config.rotaryShare(0.25),
      norm: config.flag(false, 'qk_layernorm')
        ? { kind: 'centred', names: ['q_layernorm.norms', 'k_layernorm.norms'] }
        : undefined,
    },
    feedForward: llamaMlp(sizes),
    order: parallel ? 'parallel' : 'pre',
    ...LLAMA_NAMES,
    norms: parallel ? [plainLayerNorm('input_layernorm')] : LLAMA_NAMES.norms,
    dropout: config.dropout('hidden_dropout'),
  });
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  cohere,
  cohere2: cohere,
  gptj,
  gpt_neox: gptNeox,
  falcon,
  phi,
  stablelm,
};

export const parallel: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? gptNeox)(config),
};
