import type { ConfigReader } from '../config';
import { type Block, rms } from '../layers/block';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { gatedMlp } from '../layers/mlp';
import { type ResidualSpec, residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { attentionSizes, LLAMA_ATTENTION, llamaMlp } from './llama-parts';
import { figuresOf, readSizes, type Sizes } from './sizes';

/** Names and parts in which decoders with joint projections differ. */
interface FusedDecoder {
  readonly attention: SelfAttentionSpec;
  readonly feedForward: Block;
  /** Names of the norms before attention and MLP, and after them where there are four. */
  readonly norms: readonly [string, string];
  readonly normsAfter?: readonly [string, string];
  readonly dropout?: number;
  readonly embedding: string;
  readonly embeddingDropout?: number;
  readonly finalNorm: string;
  readonly head: string;
  readonly layers?: string;
}

function assemble(sizes: Sizes, model: FusedDecoder): Architecture {
  const spec: ResidualSpec = {
    beforeMixer: rms(model.norms[0]),
    mixer: selfAttention(model.attention),
    afterMixer: model.normsAfter && rms(model.normsAfter[0]),
    beforeFeedForward: rms(model.norms[1]),
    feedForward: model.feedForward,
    afterFeedForward: model.normsAfter && rms(model.normsAfter[1]),
    dropout: model.dropout,
  };
  const layer: Block = (t, x) => residualLayer(t, x, spec);
  return {
    figures: figuresOf(sizes),
    stages: decoderStages({
      embedding: {
        name: model.embedding,
        rows: sizes.vocabulary,
        columns: sizes.hidden,
        dropout: model.embeddingDropout,
      },
      layers: new Array<Block>(sizes.layers).fill(layer),
      layersName: model.layers,
      finalNorm: rms(model.finalNorm),
      head: {
        name: model.head,
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? `${model.embedding}.weight` : undefined,
      },
    }),
  };
}

/** What these take over from Llama's names. */
const LLAMA_NAMES = {
  norms: ['input_layernorm', 'post_attention_layernorm'],
  embedding: 'embed_tokens',
  finalNorm: 'norm',
  head: 'lm_head',
} satisfies Partial<FusedDecoder>;

/** MLP of Phi-3, which GLM took over. */
function gateUpMlp(sizes: Sizes): Block {
  return fusedGatedMlp({
    name: 'mlp',
    inner: sizes.inner,
    activation: sizes.activation,
    gateUp: 'gate_up_proj',
    down: 'down_proj',
  });
}

/** Phi-3 and Phi-4: `qkv_proj` and `gate_up_proj`. */
function phi3(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const window = config.count(0, 'sliding_window');
  return assemble(sizes, {
    attention: {
      ...attentionSizes(sizes),
      module: 'self_attn',
      projections: 'qkv_proj',
      output: 'o_proj',
      rotary: config.rotaryShare(1),
      joinsRotated: true,
      window: window > 0 ? window : undefined,
    },
    feedForward: gateUpMlp(sizes),
    ...LLAMA_NAMES,
    dropout: config.dropout('resid_pdrop'),
    embeddingDropout: 0,
  });
}

/** GLM-4 in transformers' own code: half of each head rotated, `gate_up_proj`; `glm4` has four norms. */
function glm(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const four = config.modelType === 'glm4';
  return assemble(sizes, {
    attention: {
      ...attentionSizes(sizes),
      ...LLAMA_ATTENTION,
      bias: { qkv: config.flag(true, 'attention_bias'), output: false },
      rotary: config.rotaryShare(0.5),
    },
    feedForward: gateUpMlp(sizes),
    ...LLAMA_NAMES,
    normsAfter: four ? ['post_self_attn_layernorm', 'post_mlp_layernorm'] : undefined,
  });
}

/** ChatGLM 2 and 3 and GLM-4-9B as published with their own code (`modeling_chatglm.py`). */
function chatglm(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const grouped = config.flag(false, 'multi_query_attention');
  const vocabulary = config.size('padded_vocab_size', 'vocab_size');
  const keyValueHeads = grouped ? config.size('multi_query_group_num') : read.heads;
  const sizes: Sizes = { ...read, keyValueHeads, vocabulary };
  const linearBias = config.flag(false, 'add_bias_linear');
  return assemble(sizes, {
    attention: {
      ...attentionSizes(sizes),
      module: 'self_attention',
      projections: 'query_key_value',
      output: 'dense',
      bias: { qkv: linearBias || config.flag(false, 'add_qkv_bias'), output: linearBias },
      rotary: 0.5,
    },
    feedForward: fusedGatedMlp({
      name: 'mlp',
      inner: config.size('ffn_hidden_size'),
      activation: 'silu',
      gateUp: 'dense_h_to_4h',
      down: 'dense_4h_to_h',
      bias: linearBias,
    }),
    norms: ['input_layernorm', 'post_attention_layernorm'],
    embedding: 'word_embeddings',
    finalNorm: 'final_layernorm',
    head: 'output_layer',
  });
}

/** Baichuan 1 and 2: `W_pack`; the 13B models use ALiBi, which their code adds as a mask. */
function baichuan(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const sizes = { ...read, keyValueHeads: read.heads };
  return assemble(sizes, {
    attention: {
      ...attentionSizes(sizes),
      module: 'self_attn',
      projections: 'W_pack',
      output: 'o_proj',
      // The 13B code has ALiBi (`modeling_baichuan.py` of its repositories); what tells the two apart is the depth of 40 layers.
      rotary: sizes.layers >= 40 ? 0 : 1,
    },
    feedForward: llamaMlp(sizes),
    ...LLAMA_NAMES,
  });
}

/** InternLM 2 (`modeling_internlm2.py`): `wqkv`, and MLP projections named `w1`, `w3`, `w2`. */
function internlm2(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const bias = config.flag(false, 'bias');
  return assemble(sizes, {
    attention: {
      ...attentionSizes(sizes),
      module: 'attention',
      projections: 'wqkv',
      output: 'wo',
      bias: { qkv: bias, output: bias },
    },
    feedForward: (t, x) =>
      gatedMlp(t, x, {
        name: 'feed_forward',
        inner: sizes.inner,
        activation: sizes.activation,
        projections: { gate: 'w1', up: 'w3', down: 'w2' },
      }),
    norms: ['attention_norm', 'ffn_norm'],
    embedding: 'tok_embeddings',
    finalNorm: 'norm',
    head: 'output',
  });
}

/** Qwen 1 (`modeling_qwen.py`): the MLP is half as wide as `intermediate_size` states, and `c_attn` has a bias. */
function qwen(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const sizes = { ...read, keyValueHeads: read.heads, inner: Math.floor(read.inner / 2) };
  return assemble(sizes, {
    attention: {
      ...attentionSizes(sizes),
      module: 'attn',
      projections: 'c_attn',
      output: 'c_proj',
      bias: { qkv: true, output: !config.flag(true, 'no_bias') },
    },
    feedForward: (t, x) =>
      gatedMlp(t, x, {
        name: 'mlp',
        inner: sizes.inner,
        activation: 'silu',
        bias: !config.flag(true, 'no_bias'),
        projections: { gate: 'w2', up: 'w1', down: 'c_proj' },
      }),
    norms: ['ln_1', 'ln_2'],
    embedding: 'wte',
    finalNorm: 'ln_f',
    head: 'lm_head',
    layers: 'h',
  });
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  phi3,
  glm,
  glm4: glm,
  chatglm,
  baichuan,
  internlm2,
  qwen,
};

export const fusedProjections: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? phi3)(config),
};
