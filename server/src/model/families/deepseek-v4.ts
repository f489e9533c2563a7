import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { attend } from '../layers/attention';
import { type Block, rms } from '../layers/block';
import { collapsedStreams, hyperConnection } from '../layers/hyper-connection';
import { mixtureOfExperts } from '../layers/moe';
import { rmsNorm } from '../layers/norm';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { sigmoidMoe } from './sigmoid-experts';
import { figuresOf, layersOfKinds, readSizes, type Sizes } from './sizes';

/** What a layer sees beside its window: nothing, every 4th entry as an indexer chooses, or every 128th. */
type Sight = 'window' | 'chosen' | 'all';

interface V4Attention {
  readonly hidden: number;
  readonly heads: number;
  readonly headDim: number;
  readonly queryRank: number;
  readonly rotary: number;
  readonly groups: number;
  readonly outputRank: number;
  readonly window: number;
  readonly dropout: number;
  /** Tokens that one entry stands for. */
  readonly rates: Readonly<Record<Exclude<Sight, 'window'>, number>>;
  readonly indexer: { readonly heads: number; readonly dim: number; readonly top: number };
}

const MODULE = 'self_attn';

/** A norm without a gain, which multiplies in the input's type (`DeepseekV4UnweightedRMSNorm`). Any shape, and the same out. */
function plainNorm(t: Tracer, x: Tensor, name: string): Tensor {
  return t.scope(() => {
    t.hold(x);
    const wide = t.cast(x, 'fp32', `${name}.float`);
    const variance = t.reduce(t.power(wide, `${name}.square`), [...x.shape.slice(0, -1), 1], `${name}.mean`);
    const root = t.keepOutput(t.shift(variance, `${name}.eps`), `${name}.rsqrt`);
    return t.mul(x, t.cast(root, x.dtype, `${name}.to`), `${name}.mul`);
  });
}

/** The last channels of each head are rotated in fp32 and joined with the rest. `[b, s, heads x headDim]` in and out. */
function rotatedTail(t: Tracer, x: Tensor, spec: V4Attention, name: string): Tensor {
  const turned = (x.elements * spec.rotary) / spec.headDim;
  // The rotated part, its half turned, and two products, each in fp32.
  const scratch = 4 * turned * ELEMENT_BYTES.fp32;
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: x.dtype }],
    forwardScratch: scratch,
    backwardScratch: scratch,
  });
}

/** Entries of the windows: keys weighted by a softmax over each window, normed and rotated. `[b, s, h]` to `[b, entries, headDim]`. */
function compressed(t: Tracer, x: Tensor, spec: V4Attention, sight: Exclude<Sight, 'window'>): Tensor {
  const name = `${MODULE}.compressor`;
  const [batch = 1, sequence = 1] = x.shape;
  const series = sight === 'chosen' ? 2 : 1;
  const rate = spec.rates[sight];
  const entries = Math.max(1, Math.floor(sequence / rate));
  const width = series * spec.headDim;
  const kv = t.hold(t.linear(x, { name: `${name}.kv_proj`, out: width, listed: true }));
  const gate = t.linear(x, { name: `${name}.gate_proj`, out: width, listed: true });
  const bias = t.weight({ name: `${name}.position_bias`, shape: [rate, width] });
  const rows = [batch, entries, series * rate, spec.headDim];
  let placed = t.hold(t.addWeight(gate, bias, `${name}.biased`));
  let values = kv;
  if (sight === 'chosen') {
    // Each window's own series and the one before's, laid side by side in new tensors.
    values = t.hold(t.copy(kv, rows, `${name}.new_kv`));
    placed = t.hold(t.copy(placed, rows, `${name}.new_gate`));
  }
  const wide = t.softmax(t.cast(placed, 'fp32', `${name}.float`), `${name}.softmax`);
  const weighted = t.mul(values, t.cast(wide, values.dtype, `${name}.to`), `${name}.mul`);
  // `sum` is among the operators that autocast raises to fp32, and so stays what comes of it.
  const raised = t.settings.autocast ? t.cast(weighted, 'fp32', `${name}.raised`) : weighted;
  const sum = t.reduce(raised, [batch, entries, spec.headDim], `${name}.sum`);
  const normed = rmsNorm(t, sum, { name: `${name}.kv_norm`, style: 'olmo' });
  return rotatedTail(t, normed, spec, `${name}.rotary`);
}

/** The indexer's weights and the scores that it ranks; its choice carries no gradient, so nothing of it stays. */
function registerIndexer(t: Tracer, x: Tensor, spec: V4Attention): void {
  const { heads, dim } = spec.indexer;
  const name = `${MODULE}.compressor.indexer`;
  t.registerWeightsOf((probe) => {
    const token = (width: number) => probe.input([1, 1, width], x.dtype, false, name);
    const hidden = token(spec.hidden);
    probe.linear(hidden, { name: `${name}.kv_proj`, out: 2 * dim, listed: true });
    probe.linear(hidden, { name: `${name}.gate_proj`, out: 2 * dim, listed: true });
    probe.weight({ name: `${name}.position_bias`, shape: [spec.rates.chosen, 2 * dim] });
    rms(`${name}.kv_norm`)(probe, token(dim));
    probe.linear(token(spec.queryRank), { name: `${name}.q_b_proj`, out: heads * dim });
    probe.linear(hidden, { name: `${name}.scorer.weights_proj`, out: heads, listed: true });
  });
}

/** The window's mask with columns for the entries. `[b, 1, s, s + entries]`, of which nothing needs a gradient. */
function widerMask(t: Tracer, x: Tensor, spec: V4Attention, entries: number, chosen: boolean): Tensor {
  const [batch = 1, sequence = 1] = x.shape;
  const { heads, dim } = spec.indexer;
  const pairs = batch * sequence * entries;
  const projections = spec.hidden * (4 * dim + heads) + spec.queryRank * heads * dim;
  return t.fused({
    name: `${MODULE}.mask`,
    inputs: [],
    outputs: [{ shape: [batch, 1, sequence, sequence + entries], dtype: x.dtype }],
    // Scores of all the indexer's heads in fp32, and their ReLU.
    forwardScratch: chosen ? 2 * heads * pairs * ELEMENT_BYTES.fp32 : pairs * ELEMENT_BYTES[x.dtype],
    flops: chosen ? 2 * batch * sequence * projections + 2 * pairs * heads * dim : 0,
  });
}

function v4Attention(spec: V4Attention, sight: Sight): Block {
  return (t, x) =>
    t.scope(() => {
      const { headDim } = spec;
      const heads = spec.heads / t.settings.tensorParallel;
      const latent = rmsNorm(t, t.linear(x, { name: `${MODULE}.q_a_proj`, out: spec.queryRank }), {
        name: `${MODULE}.q_a_norm`,
        style: 'olmo',
      });
      t.hold(latent);
      const wide = t.linear(latent, {
        name: `${MODULE}.q_b_proj`,
        out: spec.heads * headDim,
        split: 'column',
      });
      // The whole sequence, also where `x` is this rank's part of it.
      const [batch = 1, sequence = 1] = wide.shape;
      const whole = t.gatherSequence(x);
      const perHead = plainNorm(t, t.view(wide, [batch, sequence, heads, headDim]), `${MODULE}.q_b_norm`);
      const q = t.hold(rotatedTail(t, t.view(perHead, wide.shape), spec, `${MODULE}.rotary_q`));
      const keys = rmsNorm(t, t.linear(whole, { name: `${MODULE}.kv_proj`, out: headDim }), {
        name: `${MODULE}.kv_norm`,
        style: 'olmo',
      });
      let kv = t.hold(rotatedTail(t, keys, spec, `${MODULE}.rotary_k`));
      if (sight !== 'window') {
        const entries = compressed(t, whole, spec, sight);
        if (sight === 'chosen') registerIndexer(t, whole, spec);
        const count = entries.shape[1] ?? 0;
        t.hold(widerMask(t, whole, spec, count, sight === 'chosen'));
        kv = t.hold(t.concat([kv, entries], [batch, sequence + count, headDim], `${MODULE}.kv`));
      }
      const context = attend(t, {
        name: `${MODULE}.attention`,
        q,
        k: kv,
        v: kv,
        heads,
        keyValueHeads: 1,
        headDim,
        causal: true,
        window: spec.window,
        dropout: spec.dropout,
        sinks: t.weight({ name: `${MODULE}.sinks`, shape: [spec.heads], local: [heads] }),
        fp32Softmax: false,
        kernels: 'eager',
      });
      const back = rotatedTail(t, context, spec, `${MODULE}.rotary_back`);
      return output(t, back, spec);
    });
}

/** Groups of heads, each through a matrix of its own, then all through one. */
function output(t: Tracer, x: Tensor, spec: V4Attention): Tensor {
  const { outputRank } = spec;
  const groups = spec.groups / t.settings.tensorParallel;
  const name = `${MODULE}.o_a_proj`;
  const width = (spec.heads * spec.headDim) / spec.groups;
  const weight = t.weight({
    name: `${name}.weight`,
    shape: [spec.groups * outputRank, width],
    local: [groups * outputRank, width],
    linear: true,
  });
  // Rows group by group for the batched product, and back.
  const grouped = t.copy(x, [groups, x.elements / (groups * width), width], `${name}.groups`);
  const product = t.linearWith(grouped, weight, { name, out: outputRank });
  const joined = t.copy(product, [...x.shape.slice(0, -1), groups * outputRank], `${name}.flatten`);
  return t.linear(joined, { name: `${MODULE}.o_b_proj`, out: spec.hidden, split: 'row' });
}

const SIGHTS: Readonly<Record<string, Sight>> = {
  '0': 'window',
  '4': 'chosen',
  '128': 'all',
  sliding_attention: 'window',
  compressed_sparse_attention: 'chosen',
  heavily_compressed_attention: 'all',
};

/** What each layer sees: by name, by the ratios of the checkpoint, or as the class has it. */
function sightsOf(config: ConfigReader, layers: number): Sight[] {
  const stated = config.list('layer_types', 'compress_ratios');
  return Array.from({ length: layers }, (_, i) => {
    if (!stated) return i >= 2 && i % 2 === 1 ? 'chosen' : 'all';
    const sight = SIGHTS[String(stated[i])];
    if (!sight)
      throw new ConfigError(say('layers of kind {0} are not supported', JSON.stringify(stated[i] ?? null)));
    return sight;
  });
}

function attentionOf(config: ConfigReader, sizes: Sizes): V4Attention {
  const rates = config.nested('', 'compress_rates');
  const rotated = config.has('partial_rotary_factor')
    ? Math.floor(sizes.headDim * config.number(0, 'partial_rotary_factor'))
    : 64;
  return {
    hidden: sizes.hidden,
    heads: sizes.heads,
    headDim: sizes.headDim,
    queryRank: config.size('q_lora_rank'),
    rotary: config.sizeOr(rotated, 'qk_rope_head_dim'),
    groups: config.size('o_groups'),
    outputRank: config.size('o_lora_rank'),
    window: config.size('sliding_window'),
    dropout: sizes.attentionDropout,
    // Those of the class (`configuration_deepseek_v4.py`, `default_compress_rates`).
    rates: {
      chosen: rates.sizeOr(config.sizeOr(4, 'compress_rate_csa'), 'compressed_sparse_attention'),
      all: rates.sizeOr(config.sizeOr(128, 'compress_rate_hca'), 'heavily_compressed_attention'),
    },
    indexer: {
      heads: config.size('index_n_heads'),
      dim: config.size('index_head_dim'),
      top: config.size('index_topk'),
    },
  };
}

/**
 * DeepSeek V4: several residual streams, a key that all heads share, a window beside compressed entries, and experts that the
 * first layers choose by the token's id.
 */
function deepseekV4(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const streams = config.size('hc_mult');
  const iterations = config.size('hc_sinkhorn_iters');
  const attention = attentionOf(config, sizes);
  const types = config.list('mlp_layer_types');
  const hashed = config.count(3, 'num_hash_layers');
  const moe = sigmoidMoe(config, sizes, 1, false);
  const feedForward = (byToken: boolean) =>
    mixtureOfExperts({
      ...moe,
      router: {
        ...moe.router,
        fp32Weights: false,
        correction: byToken ? undefined : moe.router.correction,
      },
      experts: { ...moe.experts, clamps: 'before' },
      shared: moe.shared && { ...moe.shared, bias: config.flag(false, 'mlp_bias') },
    });
  const kinds = sightsOf(config, sizes.layers).map((sight, i) => {
    return `${sight}/${(types ? types[i] === 'hash_moe' : i < hashed) ? 'token' : 'score'}`;
  });
  const layers = layersOfKinds(kinds, (kind): Block => {
    const [sight, choice] = kind.split('/');
    const mixer = v4Attention(attention, sight as Sight);
    const experts = feedForward(choice === 'token');
    const connection = { streams, iterations };
    return (t, x) => {
      const mixed = hyperConnection(t, x, { ...connection, name: 'attn_hc' }, (y) =>
        mixer(t, rms('input_layernorm', 'olmo')(t, y)),
      );
      return hyperConnection(t, mixed, { ...connection, name: 'ffn_hc' }, (y) =>
        experts(t, rms('post_attention_layernorm', 'olmo')(t, y)),
      );
    };
  });
  return {
    figures: figuresOf(sizes),
    notes: [
      say('the tokens that each one sees are chosen by a mask over all of them, as transformers does it'),
    ],
    stages: decoderStages({
      embedding: {
        name: 'embed_tokens',
        rows: sizes.vocabulary,
        columns: sizes.hidden,
        after: (t, x) => {
          const [batch = 1, sequence = 1] = x.shape;
          return t.copy(x, [batch, sequence, streams, sizes.hidden], 'streams');
        },
      },
      layers,
      finalNorm: (t, x) => rms('norm', 'olmo')(t, collapsedStreams(t, x, { streams, name: 'hc_head' })),
      head: {
        name: 'lm_head',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? 'embed_tokens.weight' : undefined,
      },
    }),
  };
}

export const deepseekV4Family: ModelFamily = {
  modelTypes: ['deepseek_v4'],
  build: deepseekV4,
};
