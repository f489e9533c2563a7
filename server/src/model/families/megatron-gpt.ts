import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { type Block, layerNormed, plainNorm, rms } from '../layers/block';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { latentAttention } from '../layers/latent-attention';
import { type MoeSpec, mixtureOfExperts } from '../layers/moe';
import { parallelLayer, residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { QueryKeyNorm } from '../layers/self-attention-spec';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { hybridLayers, hybridPrediction, type MegatronParts } from './megatron-hybrid';
import { predictingStages } from './multi-token-prediction';
import { twoLinears } from './plain-decoder';
import { figuresOf, layersOfKinds, readSizes, type Sizes } from './sizes';

type Kind = `${'sparse' | 'dense'}/${'rope' | 'plain'}`;

/** Linear layers of an MLP in Megatron-Core's names. */
const LINEARS = { up: 'linear_fc1', down: 'linear_fc2' };

function normOf(config: ConfigReader): (name: string) => Block {
  switch (config.text('layernorm', 'normalization')) {
    case 'rmsnorm':
      return (name) => rms(name);
    case 'plain':
      return plainNorm;
    default:
      return (name) => layerNormed(name);
  }
}

function mlp(name: string, config: ConfigReader, activation: string, inner: number): Block {
  const bias = config.flag(true, 'mlp_bias');
  return config.flag(false, 'gated_mlp')
    ? fusedGatedMlp({ name, inner, activation, bias, gateUp: LINEARS.up, down: LINEARS.down })
    : twoLinears(name, LINEARS, inner, activation, bias);
}

function attentionOf(config: ConfigReader, sizes: Sizes, rotates: boolean): Block {
  if (config.has('kv_lora_rank')) {
    return latentAttention({
      module: 'self_attention',
      hidden: sizes.hidden,
      heads: sizes.heads,
      queryRank: config.has('q_lora_rank') ? config.size('q_lora_rank') : undefined,
      keyValueRank: config.size('kv_lora_rank'),
      plainDim: config.size('qk_nope_head_dim'),
      rotaryDim: config.size('qk_rope_head_dim'),
      valueDim: config.size('v_head_dim'),
      bias: config.flag(true, 'attention_bias'),
      dropout: sizes.attentionDropout,
    });
  }
  const rms = config.text('layernorm', 'normalization') === 'rmsnorm';
  const norm: QueryKeyNorm = { kind: rms ? 'head' : 'layer', names: ['q_layernorm', 'k_layernorm'] };
  const window = config.count(0, 'sliding_window');
  return selfAttention({
    module: 'self_attention',
    hidden: sizes.hidden,
    heads: sizes.heads,
    keyValueHeads: sizes.keyValueHeads,
    headDim: sizes.headDim,
    projections: 'linear_qkv',
    output: 'linear_proj',
    bias: { qkv: config.flag(true, 'qkv_bias'), output: config.flag(true, 'attention_bias') },
    rotary: rotates ? config.rotaryShare(1) : 0,
    norm: config.flag(false, 'qk_norm') ? norm : undefined,
    window: window > 0 ? window : undefined,
    dropout: sizes.attentionDropout,
    causal: config.flag(true, 'causal'),
  });
}

/** Two linear layers between the model's width and that of the routed experts (`moe_layer.py`, `moe_latent_size`). */
function latentWidthOf(config: ConfigReader): MoeSpec['experts']['latent'] {
  const width = config.count(0, 'moe_latent_size');
  if (width === 0) return undefined;
  const bias = config.flag(true, 'mlp_bias');
  return { width, into: 'mlp.fc1_latent_proj', outOf: 'mlp.fc2_latent_proj', bias };
}

function expertsOf(config: ConfigReader, sizes: Sizes): Block | undefined {
  if (!config.has('num_experts')) return undefined;
  const shared = config.count(0, 'shared_expert_intermediate_size');
  const spec: MoeSpec = {
    router: {
      name: 'mlp.router',
      score: config.text('softmax', 'scoring_func') === 'sigmoid' ? 'sigmoid' : 'softmax',
      wide: config.flag(false, 'router_fp32'),
      correction: config.flag(false, 'router_correction') ? 'mlp.router.expert_bias' : undefined,
    },
    experts: {
      name: 'mlp.experts',
      count: config.size('num_experts'),
      chosen: config.size('num_experts_per_tok'),
      inner: config.sizeOr(sizes.inner, 'moe_intermediate_size'),
      activation: sizes.activation,
      names: { gateUp: LINEARS.up, down: LINEARS.down },
      bias: config.flag(true, 'expert_bias', 'mlp_bias'),
      plain: !config.flag(false, 'expert_gate', 'gated_mlp'),
      latent: latentWidthOf(config),
    },
    shared:
      shared > 0
        ? {
            name: 'mlp.shared_experts',
            inner: shared,
            gate: config.flag(false, 'shared_expert_gate') ? 'mlp.shared_experts.gate' : undefined,
          }
        : undefined,
  };
  return mixtureOfExperts(spec);
}

/** Which of two segments a token is in (`models/common/embeddings/language_model_embedding.py`). */
function tokenTypes(rows: number): Block {
  return (t, x) => {
    const ids = t.input([x.shape[0] ?? 1, x.shape[1] ?? 1], 'int64', false, 'tokentype_ids');
    return t.add(x, t.embedding(ids, { name: 'tokentype_embeddings', rows, columns: x.shape.at(-1) ?? 0 }));
  };
}

/** The head of masked words, and the pooler and head of the next sentence (`models/bert/bert_model.py`). */
function bertHeads({ hidden }: Sizes, norm: (name: string) => Block, binary: boolean): Block {
  return (t, x) => {
    if (binary) {
      const first = t.view(t.reduce(x, [x.shape[0] ?? 1, 1, hidden], 'pooler.first'), [
        x.shape[0] ?? 1,
        hidden,
      ]);
      const pooled = t.keepOutput(
        t.linear(first, { name: 'pooler.dense', out: hidden, bias: true }),
        'pooler.tanh',
      );
      t.linear(pooled, { name: 'binary_head', out: 2, bias: true });
    }
    const dense = t.linear(x, { name: 'lm_head.dense', out: hidden, bias: true });
    return norm('lm_head.layer_norm')(t, t.keepInput(dense, 'lm_head.gelu'));
  };
}

/** Layers of the two kinds that have experts, as `moe_layers` lists them (0 and 1); all where there is no list. */
function kindsOf(config: ConfigReader, sizes: Sizes): Kind[] {
  const sparse = config.has('num_experts');
  const pattern = config.list('moe_layers');
  const rotation = config.list('rope_layers');
  const rotary = config.text('learned', 'position_embedding') === 'rope';
  return Array.from({ length: sizes.layers }, (_, i): Kind => {
    const routed = sparse && (pattern ? pattern[i] !== 0 : true);
    const rotates = rotary && (rotation ? rotation[i] !== 0 : true);
    return `${routed ? 'sparse' : 'dense'}/${rotates ? 'rope' : 'plain'}`;
  });
}

/** What layers are made of. */
function partsOf(config: ConfigReader, sizes: Sizes): MegatronParts {
  return {
    norm: normOf(config),
    dropout: config.dropout('hidden_dropout'),
    attention: (rotates) => attentionOf(config, sizes, rotates),
    dense: mlp('mlp', config, sizes.activation, sizes.inner),
    experts: expertsOf(config, sizes),
  };
}

/** Layers of two branches, attention and MLP or experts. */
function twoBranchLayers(config: ConfigReader, sizes: Sizes, parts: MegatronParts): Block[] {
  const { norm, dropout, dense, experts } = parts;
  const parallel = config.flag(false, 'parallel_residual');
  const oneNorm = config.flag(false, 'shared_norm');
  return layersOfKinds(kindsOf(config, sizes), (kind): Block => {
    const attention = parts.attention(kind.endsWith('rope'));
    const feedForward = kind.startsWith('sparse') && experts ? experts : dense;
    const first = norm('input_layernorm');
    const second = norm('pre_mlp_layernorm');
    if (parallel) {
      const feedForwardNorm = oneNorm ? undefined : second;
      return (t, x) => parallelLayer(t, x, { attention, feedForward, norm: first, feedForwardNorm, dropout });
    }
    return (t, x) =>
      residualLayer(t, x, {
        beforeMixer: first,
        mixer: attention,
        beforeFeedForward: second,
        feedForward,
        dropout,
      });
  });
}

/**
 * A GPT as Megatron builds it from its arguments (`megatron/core/models/gpt/gpt_model.py`; GPT-NeoX's is one too): joint
 * projections, and a choice of norms, positions, biases, gates and experts that no published family has all of. `vocab_size`
 * is the padded one.
 */
function megatronGpt(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const parts = partsOf(config, sizes);
  const { norm, dropout } = parts;
  const isHybrid = config.has('hybrid_layer_pattern');
  const layers = isHybrid ? hybridLayers(config, sizes, parts) : twoBranchLayers(config, sizes, parts);
  const bert = config.has('token_types');
  const learned = config.text('learned', 'position_embedding') === 'learned';
  const model = {
    embedding: {
      name: 'word_embeddings',
      rows: sizes.vocabulary,
      columns: sizes.hidden,
      positions: learned
        ? { name: 'position_embeddings', rows: config.size('max_position_embeddings') }
        : undefined,
      dropout,
      after: bert
        ? tokenTypes(config.size('token_types'))
        : config.flag(false, 'embedding_norm')
          ? norm('embedding_norm')
          : undefined,
    },
    layers,
    finalNorm: norm('final_layernorm'),
    head: {
      name: 'output_layer',
      vocabulary: sizes.vocabulary,
      tiedTo: sizes.tied ? 'word_embeddings.weight' : undefined,
      bias: bert,
    },
    beforeHead: bert ? bertHeads(sizes, norm, config.flag(false, 'binary_head')) : undefined,
  };
  const depths = config.count(0, 'mtp_num_layers');
  const layer = isHybrid ? hybridPrediction(config, sizes, parts) : layers.at(-1);
  if (depths === 0 || !layer)
    return {
      figures: figuresOf(sizes),
      stages: decoderStages(model),
      notes: depths > 0 ? [say('layers that predict further tokens are left out')] : [],
    };
  const repeated = config.flag(false, 'mtp_use_repeated_layer');
  return {
    figures: figuresOf(sizes),
    stages: predictingStages(model, { depths, repeated, norm, layer }),
  };
}

export const megatronGptFamily: ModelFamily = { modelTypes: ['megatron_gpt'], build: megatronGpt };
