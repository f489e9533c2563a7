import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, t5Norm } from '../layers/block';
import { classificationHead, classifies } from '../layers/classification';
import { languageModelHead } from '../layers/loss';
import { attentionOver } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { firstToken } from './bert';
import { embed, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { figuresOf, readSizes, type Sizes } from './sizes';

interface T5Sizes extends Sizes {
  readonly decoderLayers: number;
  readonly dropout: number;
  readonly buckets: number;
  readonly gated: boolean;
  /** A bias table in every layer instead of the first (UMT5). */
  readonly biasInEveryLayer: boolean;
}

function read(config: ConfigReader): T5Sizes {
  const sizes = readSizes(config);
  const projection = config.text('relu', 'feed_forward_proj');
  const gated = config.flag(projection.startsWith('gated-'), 'is_gated_act');
  const kind = projection.replace('gated-', '');
  const layers = config.size('num_layers');
  return {
    ...sizes,
    layers,
    keyValueHeads: sizes.heads,
    headDim: config.size('d_kv'),
    inner: config.size('d_ff'),
    // `gated-gelu` stands for the Python version of gelu (`T5Config`).
    activation: projection === 'gated-gelu' ? 'gelu_new' : kind,
    tied: config.flag(true, 'tie_word_embeddings'),
    decoderLayers: config.sizeOr(layers, 'num_decoder_layers'),
    dropout: config.dropout('dropout_rate'),
    buckets: config.size('relative_attention_num_buckets'),
    gated,
    biasInEveryLayer: config.modelType === 'umt5',
  };
}

function attentionSpec(sizes: T5Sizes, module: string, causal: boolean): SelfAttentionSpec {
  return {
    module,
    hidden: sizes.hidden,
    heads: sizes.heads,
    keyValueHeads: sizes.heads,
    headDim: sizes.headDim,
    projections: { q: 'q', k: 'k', v: 'v' },
    output: 'o',
    rotary: 0,
    causal,
    dropout: sizes.dropout,
    fp32Softmax: false,
  };
}

/** Table of relative positions, looked up for every pair: `[1, heads, queries, keys]`. */
function positionBias(t: Tracer, sizes: T5Sizes, length: number): Tensor {
  const buckets = t.input([length, length], 'int64', false, 'relative_position_bucket', true);
  const values = t.embedding(buckets, {
    name: 'layer.0.SelfAttention.relative_attention_bias',
    rows: sizes.buckets,
    columns: sizes.heads,
  });
  return t.view(values, [1, sizes.heads, length, length]);
}

/** Each layer's SDPA takes a contiguous copy of the permuted bias, in decoders of the masked one. */
function laidOut(t: Tracer, bias: Tensor, masked: boolean): Tensor {
  if (t.settings.attention === 'eager') return bias;
  const { autocast, computeDtype } = t.settings;
  const cast = autocast ? t.cast(bias, computeDtype, 'position_bias.cast') : bias;
  const scores = masked ? t.scale(cast, 'position_bias.mask') : cast;
  return t.copy(scores, scores.shape, 'position_bias.contiguous');
}

function zeroBias(t: Tracer, sizes: T5Sizes, queries: Tensor, keys: Tensor): Tensor {
  const shape = [1, sizes.heads, queries.shape[1] ?? 1, keys.shape[1] ?? 1];
  const dtype = t.settings.autocast ? t.settings.computeDtype : queries.dtype;
  const pairs = shape[2] === shape[3];
  return t.fused({ name: 'layer.1.EncDecAttention.zeros', inputs: [], outputs: [{ shape, dtype }], pairs });
}

/** `x + dropout(body(norm(x)))`. */
function sublayer(t: Tracer, x: Tensor, index: number, dropout: number, body: Block): Tensor {
  return t.scope(() => {
    t.hold(x);
    const out = body(t, t5Norm(`layer.${index}.layer_norm`)(t, x));
    return t.add(x, t.dropout(out, dropout, `layer.${index}.dropout`), 'residual');
  });
}

function feedForward(sizes: T5Sizes, index: number): Block {
  const path = `layer.${index}.DenseReluDense`;
  return (t, x) => {
    const up = (name: string) => t.linear(x, { name: `${path}.${name}`, out: sizes.inner, split: 'column' });
    let inner = applyActivation(t, up(sizes.gated ? 'wi_0' : 'wi'), sizes.activation);
    if (sizes.gated) inner = t.mul(inner, up('wi_1'), `${path}.gated_product`);
    inner = t.dropout(inner, sizes.dropout, `${path}.dropout`);
    return t.linear(inner, { name: `${path}.wo`, out: sizes.hidden, split: 'row', listed: true });
  };
}

function block(sizes: T5Sizes, side: 'encoder' | 'decoder', first: boolean): Stage['trace'] {
  const decoder = side === 'decoder';
  return (t, flow) => {
    let hidden = t.enter(take(flow, 'hidden'), 'hidden');
    const encoder = decoder ? t.enter(take(flow, 'encoder'), 'encoder') : undefined;
    const own = first || sizes.biasInEveryLayer;
    const bias = own ? positionBias(t, sizes, hidden.shape[1] ?? 1) : t.enter(take(flow, 'bias'), 'bias');
    if (first) flow.set('bias', bias);
    // Cross-attention has positions without a table: zeros, made once (`T5Attention.forward`).
    let zeros: Tensor | undefined;
    if (encoder) zeros = first ? zeroBias(t, sizes, hidden, encoder) : t.enter(take(flow, 'zeros'), 'zeros');
    if (first && zeros) flow.set('zeros', zeros);
    hidden = t.scope(() => {
      const self = attentionSpec(sizes, 'layer.0.SelfAttention', decoder);
      let x = sublayer(t, hidden, 0, sizes.dropout, (tracer, y) =>
        attentionOver(tracer, y, self, { positionBias: laidOut(tracer, bias, decoder) }),
      );
      if (encoder) {
        const cross = attentionSpec(sizes, 'layer.1.EncDecAttention', false);
        x = sublayer(t, x, 1, sizes.dropout, (tracer, y) =>
          attentionOver(tracer, y, cross, { source: encoder, positionBias: zeros }),
        );
      }
      const last = decoder ? 2 : 1;
      return sublayer(t, x, last, sizes.dropout, feedForward(sizes, last));
    });
    flow.set('hidden', hidden);
  };
}

function layers(sizes: T5Sizes, side: 'encoder' | 'decoder', count: number): Stage[] {
  const first: Stage = { name: `${side}.block`, role: 'layer', count: 1, trace: block(sizes, side, true) };
  if (count === 1) return [first];
  return [first, { ...first, count: count - 1, trace: block(sizes, side, false) }];
}

function embedding(sizes: T5Sizes, side: 'encoder' | 'decoder'): Stage['trace'] {
  return (t, flow) => {
    const { batch, sequence, targetSequence } = t.settings;
    const length = side === 'encoder' ? sequence : targetSequence;
    const ids = t.input(
      [batch, length],
      'int64',
      false,
      side === 'encoder' ? 'input_ids' : 'decoder_input_ids',
    );
    const spec = {
      name: side === 'encoder' ? 'shared' : 'decoder.embed_tokens',
      rows: sizes.vocabulary,
      columns: sizes.hidden,
      dropout: sizes.dropout,
      promptSets: 2,
    };
    flow.set('hidden', embed(t, ids, spec, side === 'encoder' ? undefined : 'shared.weight'));
  };
}

function finalNorm(t: Tracer, flow: Flow, sizes: T5Sizes): Tensor {
  const normed = t5Norm('final_layer_norm')(t, t.enter(take(flow, 'hidden'), 'hidden'));
  return t.dropout(normed, sizes.dropout, 'final_dropout');
}

/** T5, Flan-T5 and mT5. */
function build(config: ConfigReader): Architecture {
  const sizes = read(config);
  const stages: Stage[] = [
    { name: 'shared', role: 'embedding', count: 1, trace: embedding(sizes, 'encoder') },
    ...layers(sizes, 'encoder', sizes.layers),
    {
      name: 'encoder.final_layer_norm',
      role: 'norm',
      count: 1,
      trace: (t, flow) => {
        flow.set('encoder', finalNorm(t, flow, sizes));
        flow.delete('bias');
        flow.delete('hidden');
      },
    },
    { name: 'decoder.embed_tokens', role: 'embedding', count: 1, trace: embedding(sizes, 'decoder') },
    ...layers(sizes, 'decoder', sizes.decoderLayers),
    {
      name: 'head',
      role: 'head',
      count: 1,
      trace: (t, flow) => {
        let hidden = finalNorm(t, flow, sizes);
        if (classifies(t)) {
          // `T5ClassificationHead`; the decoder reads the shifted input.
          const last = t.dropout(firstToken(t, hidden), sizes.dropout, 'classification_head.dropout');
          const dense = t.linear(last, { name: 'classification_head.dense', out: sizes.hidden, bias: true });
          const activated = t.dropout(
            t.keepOutput(dense, 'tanh'),
            sizes.dropout,
            'classification_head.dropout',
          );
          const out = { name: 'classification_head.out_proj', bias: true };
          flow.set('loss', classificationHead(t, activated, out));
          return;
        }
        if (sizes.tied) hidden = t.scale(hidden, 'head_scale');
        const loss = languageModelHead(t, hidden, {
          name: 'lm_head',
          vocabulary: sizes.vocabulary,
          tiedTo: sizes.tied ? 'shared.weight' : undefined,
          ownType: true,
        });
        flow.set('loss', loss);
      },
    },
  ];
  const { layers: encoderLayers, decoderLayers } = sizes;
  const figures = {
    ...figuresOf(sizes),
    layers: encoderLayers + decoderLayers,
    decoder: { layers: decoderLayers },
  };
  return { figures, stages };
}

export const t5: ModelFamily = { modelTypes: ['t5', 'mt5', 'umt5'], build };
