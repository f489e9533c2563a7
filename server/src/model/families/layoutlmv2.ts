import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, classifies, tokenHead } from '../layers/classification';
import { postNormLayer } from '../layers/residual';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { PYRAMID_CHANNELS, pooledFields, pyramidStages } from './feature-pyramid';
import { figuresOf, readSizes, type Sizes } from './sizes';

/** Pixels of an image's side (`image_processing_layoutlmv2.py`, `size`). */
const IMAGE_SIDE = 224;
/** Fields on each side of an image by default (`image_feature_pool_shape`). */
const FIELDS = 7;

interface Layout {
  readonly sizes: Sizes;
  readonly dropout: number;
  /** Fields of an image on each side, each of which is a token. */
  readonly fields: number;
  readonly boxes: { readonly rows: number; readonly place: number; readonly extent: number };
  readonly positions: number;
  readonly types: number;
  readonly segment: boolean;
  readonly bins: { readonly text: number; readonly boxes: number };
}

function read(config: ConfigReader): Layout {
  const backbone = config.stated('detectron2_config_args');
  const own = new Map(Object.entries(backbone ?? {}));
  // `get_default_detectron2_config`.
  const expected = {
    'MODEL.RESNETS.DEPTH': 101,
    'MODEL.RESNETS.NUM_GROUPS': 32,
    'MODEL.RESNETS.WIDTH_PER_GROUP': 8,
  };
  if (backbone && Object.entries(expected).some(([key, value]) => own.get(key) !== value))
    throw new ConfigError(say('"{0}" is not supported', 'detectron2_config_args'));
  for (const name of ['fast_qkv', 'has_relative_attention_bias', 'has_spatial_attention_bias'])
    if (!config.flag(true, name)) throw new ConfigError(say('"{0}": false is not supported', name));
  const pool: unknown = config.stated('image_feature_pool_shape') ?? [FIELDS, FIELDS, PYRAMID_CHANNELS];
  const [rows, columns] = Array.isArray(pool) ? pool : [];
  if (typeof rows !== 'number' || rows !== columns)
    throw new ConfigError(say('"{0}" is not supported', 'image_feature_pool_shape'));
  return {
    sizes: readSizes(config),
    dropout: config.dropout('hidden_dropout_prob'),
    fields: rows,
    boxes: {
      rows: config.size('max_2d_position_embeddings'),
      place: config.size('coordinate_size'),
      extent: config.size('shape_size'),
    },
    positions: config.size('max_position_embeddings'),
    types: config.size('type_vocab_size'),
    segment: config.flag(true, 'has_visual_segment_embedding'),
    bins: { text: config.size('rel_pos_bins'), boxes: config.size('rel_2d_pos_bins') },
  };
}

/** Positions in the text and on the page of `[b, n]` tokens, as two tensors `[b, n, h]`: the second is put together of six. */
function places(t: Tracer, { boxes, positions, sizes }: Layout, shape: readonly number[]): [Tensor, Tensor] {
  const look = (name: string, rows: number, columns: number, index: Tensor) =>
    t.embedding(index, { name: `embeddings.${name}`, rows, columns });
  const order = look(
    'position_embeddings',
    positions,
    sizes.hidden,
    t.input(shape, 'int64', false, 'position_ids'),
  );
  // All four corners of a box lie beside each other; its width and height are tensors of their own.
  const box = t.input([...shape, 4], 'int64', false, 'bbox');
  const corner = (name: string) => look(name, boxes.rows, boxes.place, t.view(t.slice(box, shape), shape));
  const extent = (name: string) => {
    const index = t.fused({ name: `${name}.index`, inputs: [box], outputs: [{ shape, dtype: 'int64' }] });
    return look(name, boxes.rows, boxes.extent, index);
  };
  const first = [corner('x_position_embeddings'), corner('y_position_embeddings')];
  const again = t.again(() => [corner('x_position_embeddings'), corner('y_position_embeddings')]);
  const parts = [...first, ...again, extent('h_position_embeddings'), extent('w_position_embeddings')];
  return [order, t.concat(parts, [...shape, sizes.hidden], 'spatial')];
}

/** Words, positions, places on the page and types added, a norm, dropout (`_calc_text_embeddings`): `[b, n, h]`. */
function textTokens(t: Tracer, layout: Layout): Tensor {
  const { sizes, types, dropout } = layout;
  const { batch, sequence } = t.settings;
  const ids = t.input([batch, sequence], 'int64', false, 'input_ids');
  const table = (name: string, rows: number, tokens = false) =>
    t.embedding(ids, { name: `embeddings.${name}`, rows, columns: sizes.hidden, tokens });
  return t.scope(() => {
    const words = t.hold(table('word_embeddings', sizes.vocabulary, true));
    const [order, spatial] = places(t, layout, [batch, sequence]);
    t.hold(order);
    t.hold(spatial);
    const kinds = t.hold(table('token_type_embeddings', types));
    const sum = t.add(t.add(t.add(words, order, 'positions'), spatial, 'places'), kinds, 'types');
    return t.dropout(layerNormed('embeddings.LayerNorm')(t, sum), dropout, 'embedding_dropout');
  });
}

/** Fields of the image (`_calc_img_embeddings`): `[b, fields, h]`. Their places are of the same tables as those of the text. */
function imageTokens(t: Tracer, layout: Layout, pyramid: Tensor): Tensor {
  const { sizes, fields, dropout, segment } = layout;
  const features = pooledFields(t, pyramid, fields);
  return t.scope(() => {
    const projected = t.hold(t.linear(features, { name: 'visual_proj', out: sizes.hidden, bias: true }));
    const shape = [t.settings.batch, fields * fields];
    const [order, spatial] = t.again(() => places(t, layout, shape));
    t.hold(order);
    t.hold(spatial);
    let sum = t.add(t.add(projected, order, 'positions'), spatial, 'places');
    // The class that answers questions has one whatever the config states (`LayoutLMv2ForQuestionAnswering.__init__`).
    if (segment || t.settings.objective === 'question-answering') {
      const table = t.weight({ name: 'visual_segment_embedding', shape: [sizes.hidden] });
      sum = t.addWeight(sum, table, 'visual_segment_embedding');
    }
    return t.dropout(layerNormed('visual_LayerNorm')(t, sum), dropout, 'visual_dropout');
  });
}

/** Tokens of the text, and of the image behind them. */
function tokenStage(layout: Layout): Stage {
  return {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const pyramid = t.enter(take(flow, 'pyramid'), 'pyramid');
      const parts = [textTokens(t, layout), imageTokens(t, layout, pyramid)];
      const length = parts.reduce((sum, { shape: [, tokens = 0] }) => sum + tokens, 0);
      const shape = [t.settings.batch, length, layout.sizes.hidden];
      flow.set('hidden', t.concat(parts, shape, 'modalities'));
    },
  };
}

/**
 * Biases of distances in the text and on the page, `[b, heads, n, n]` each, looked up without a graph in weights that hence get no gradient: all
 * layers read them (`_calculate_1d_position_embeddings`, `_calculate_2d_position_embeddings`).
 */
function biasStage({ sizes, bins }: Layout): Stage {
  return {
    name: 'encoder',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const x = t.enter(take(flow, 'hidden'), 'hidden');
      const [batch = 1, length = 1] = x.shape;
      const shape = [batch, sizes.heads, length, length];
      const table = (name: string, count: number) =>
        t.weight({ name: `encoder.${name}.weight`, shape: [sizes.heads, count] });
      table('rel_pos_bias', bins.text);
      for (const axis of ['x', 'y']) table(`rel_pos_${axis}_bias`, bins.boxes);
      const dtype = t.settings.weightDtype;
      const bias = (name: string) =>
        t.holdInModel(t.fused({ name, inputs: [], outputs: [{ shape, dtype }], pairs: true }));
      flow.set('text_bias', bias('rel_pos'));
      const scratch = t.fused({ name: 'rel_pos_x', inputs: [], outputs: [{ shape, dtype }], pairs: true });
      const sum = t.fused({
        name: 'rel_2d_pos',
        inputs: [scratch],
        outputs: [{ shape, dtype }],
        forwardScratch: scratch.storage.bytes,
      });
      flow.set('box_bias', t.holdInModel(sum));
      flow.set('hidden', x);
    },
  };
}

/** Scores are changed in place by both biases and by the mask (`LayoutLMv2SelfAttention`): none is kept but the probabilities. */
function attention({ sizes }: Layout, textBias: Tensor, boxBias: Tensor): Block {
  const { hidden, heads, headDim } = sizes;
  return (t, x) => {
    const [b = 1, n = 1] = x.shape;
    const module = 'attention.self';
    return t.scope(() => {
      const qkv = t.hold(t.linear(x, { name: `${module}.qkv_linear`, out: 3 * hidden, bias: false }));
      const [q, k, v] = t.split(qkv, [hidden, hidden, hidden]);
      if (!q || !k || !v) throw new Error('a split in three has three parts');
      const biased = (part: Tensor, name: string) =>
        t.hold(
          t.addWeight(
            part,
            t.weight({ name: `${module}.${name}_bias`, shape: [1, 1, hidden] }),
            `${name}_bias`,
          ),
        );
      const query = biased(q, 'q');
      const value = biased(v, 'v');
      const lowered = (part: Tensor, name: string) => {
        const low = t.settings.autocast ? t.cast(part, t.settings.computeDtype, `${name}.cast`) : part;
        // Heads lie apart: a batched product of several samples takes copies.
        return b > 1 ? t.copy(low, [b, n, hidden], name) : low;
      };
      const scaled = t.hold(t.scale(query, 'attention.scaling'));
      const made = t.matmul(
        lowered(scaled, 'attention.q'),
        lowered(k, 'attention.k'),
        [b, heads, n, n],
        headDim,
        'attention.scores',
      );
      const placed = t.addInto(
        t.addInto(made, textBias, 'attention.rel_pos'),
        boxBias,
        'attention.rel_2d_pos',
      );
      const scores = t.hold(t.cast(placed, 'fp32', 'attention.float'));
      const mask = t.input([b, 1, 1, n], 'bool', false, 'attention.mask');
      const softmax = t.softmax(t.addInto(scores, mask, 'attention.masked'), 'attention.softmax');
      const probabilities = t.cast(softmax, value.dtype, 'attention.type_as');
      const dropped = t.hold(t.dropout(probabilities, sizes.attentionDropout, 'attention.dropout'));
      const low = t.settings.autocast
        ? t.cast(dropped, t.settings.computeDtype, 'attention.probabilities')
        : dropped;
      const context = t.matmul(
        low,
        lowered(value, 'attention.v'),
        [b, heads, n, headDim],
        n,
        'attention.values',
      );
      const out = t.copy(context, [b, n, hidden], 'attention.contiguous');
      return t.linear(out, { name: 'attention.output.dense', out: hidden, bias: true });
    });
  };
}

function layerStage(layout: Layout): Stage {
  const { sizes, dropout } = layout;
  return {
    name: 'encoder.layer',
    role: 'layer',
    count: sizes.layers,
    trace: (t, flow) => {
      const biases = ['text_bias', 'box_bias'].map((name) => t.enter(take(flow, name), name));
      const [textBias, boxBias] = biases;
      if (!textBias || !boxBias) return;
      const out = postNormLayer(t, t.enter(take(flow, 'hidden'), 'hidden'), {
        mixer: attention(layout, textBias, boxBias),
        mixerNorm: layerNormed('attention.output.LayerNorm'),
        feedForward: (tracer, y) => {
          const up = tracer.linear(y, { name: 'intermediate.dense', out: sizes.inner, bias: true });
          const active = applyActivation(tracer, up, sizes.activation);
          return tracer.linear(active, { name: 'output.dense', out: sizes.hidden, bias: true });
        },
        feedForwardNorm: layerNormed('output.LayerNorm'),
        dropout,
      });
      flow.set('hidden', out);
    },
  };
}

/** The first token through a dense layer, which the heads for tokens do not read: its weights get no gradient. */
function poolerStage({ sizes: { hidden } }: Layout): Stage {
  return {
    name: 'pooler',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      t.weight({ name: 'pooler.dense.weight', shape: [hidden, hidden] });
      t.weight({ name: 'pooler.dense.bias', shape: [hidden] });
      flow.set('hidden', t.enter(take(flow, 'hidden'), 'hidden'));
    },
  };
}

/** Scores of the text's tokens. */
function headStage({ sizes, dropout }: Layout): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      if (classifies(t)) {
        const [batch = 1] = hidden.shape;
        const one = t.slice(hidden, [batch, sizes.hidden]);
        const pooled = t.concat([one, one, one], [batch, 3 * sizes.hidden], 'pooled');
        flow.set('loss', classificationHead(t, pooled, { name: 'classifier', bias: true }));
        return;
      }
      const text = t.slice(hidden, [hidden.shape[0] ?? 1, t.settings.sequence, sizes.hidden]);
      flow.set('loss', tokenHead(t, text, { classifier: 'classifier', answer: 'qa_outputs', dropout }));
    },
  };
}

function layoutlmv2(config: ConfigReader): Architecture {
  const layout = read(config);
  const body = [
    ...pyramidStages(IMAGE_SIDE),
    tokenStage(layout),
    biasStage(layout),
    layerStage(layout),
    poolerStage(layout),
  ];
  return {
    figures: {
      ...figuresOf(layout.sizes),
      sampleLength: { tokens: layout.positions, note: () => say('the longest text that the model takes') },
    },
    stages: [...body, headStage(layout)],
    counted: body,
    scoresTokens: true,
    // It runs the backbone once more, for fields before the encoder (`LayoutLMv2ForSequenceClassification.forward`).
    countedHeads: ['classification', 'reward'],
    // `supports_gradient_checkpointing` is not set (transformers 5.23, `modeling_layoutlmv2.py`).
    recomputes: false,
    notes: [
      say(
        'the backbone is trained as a whole, as in transformers 5: releases before leave its first levels as they are and need less',
      ),
    ],
  };
}

/** LayoutLMv2: words of a page with their places, and fields of its image, in one encoder. */
export const layoutlmv2Family: ModelFamily = {
  modelTypes: ['layoutlmv2'],
  build: layoutlmv2,
};
