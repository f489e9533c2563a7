import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { attend } from '../layers/attention';
import { type Block, layerNormed } from '../layers/block';
import { convolution } from '../layers/convolution';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { imagesOfSides, sideOfPixels } from './classified-images';
import { hiddenStage, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { imagesOf } from './image-encoders';
import { bottleneck, type Grid, levelGrid, RESNET_50, RESNET_CHANNELS, resnetStem } from './resnet-backbone';

/** The largest image that the processor makes: its shorter side, and the longer one at most (`DetrImageProcessor`, `size`). */
const LARGEST: Grid = { rows: 800, columns: 1333 };

interface Sizes {
  readonly hidden: number;
  readonly queries: number;
  readonly labels: number;
  readonly layers: Readonly<Record<'encoder' | 'decoder', number>>;
  readonly heads: Readonly<Record<'encoder' | 'decoder', number>>;
  readonly inner: Readonly<Record<'encoder' | 'decoder', number>>;
  readonly activation: string;
  readonly dropout: number;
  readonly attentionDropout: number;
  readonly activationDropout: number;
}

/** ResNet-50 of timm, by a config of its own or by its name. */
function isResnet50(config: ConfigReader): boolean {
  const given = config.stated('backbone_config');
  if (given === undefined || given === null) return config.text('resnet50', 'backbone') === 'resnet50';
  const own = new Map(Object.entries(given));
  return (
    own.get('model_type') === 'timm_backbone' &&
    own.get('backbone') === 'resnet50' &&
    (own.get('output_stride') ?? null) === null
  );
}

function read(config: ConfigReader): Sizes {
  if (!isResnet50(config)) throw new ConfigError(say('"{0}" is not supported', 'backbone_config'));
  for (const name of ['dilation', 'auxiliary_loss'])
    if (config.flag(false, name)) throw new ConfigError(say('"{0}": true is not supported', name));
  if (config.text('sine', 'position_embedding_type') !== 'sine')
    throw new ConfigError(say('"{0}" is not supported', 'position_embedding_type'));
  const pair = (name: string) => ({
    encoder: config.size(`encoder_${name}`),
    decoder: config.size(`decoder_${name}`),
  });
  return {
    hidden: config.size('d_model'),
    queries: config.size('num_queries'),
    labels: config.labels(2),
    layers: pair('layers'),
    heads: pair('attention_heads'),
    inner: pair('ffn_dim'),
    activation: config.text('relu', 'activation_function'),
    dropout: config.dropout('dropout'),
    attentionDropout: config.dropout('attention_dropout'),
    activationDropout: config.dropout('activation_dropout'),
  };
}

/** Sides of the image in pixels: a square of as many as the run states, else the largest. */
function imageOf({ settings: { imagePixels } }: Tracer): Grid {
  if (imagePixels === undefined) return LARGEST;
  return squareOf(imagePixels);
}

function squareOf(pixels: number): Grid {
  const side = sideOfPixels(pixels);
  return { rows: side, columns: side };
}

/** Cells of the last level of the backbone: the encoder's tokens. */
function cellsOf(image: Grid): number {
  const { rows, columns } = levelGrid(image, RESNET_50.levels.length - 1);
  return rows * columns;
}

/** ResNet-50, trained as a whole: of timm's nothing stays as it is (transformers 5.23, `DetrConvEncoder`, `"resnet" in backbone_model_type`). */
function backboneStages(channels: number): Stage[] {
  const stem: Stage = {
    name: 'backbone.conv1',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const image = imageOf(t);
      const pixels = t.batchInput(
        [imagesOf(t), channels, image.rows * image.columns],
        inputDtype(t.settings),
        'pixel_values',
      );
      flow.set('hidden', resnetStem(t, pixels, image, RESNET_50));
    },
  };
  const levels = RESNET_50.levels.flatMap(({ blocks }, level) => {
    const grid = (t: Tracer) => levelGrid(imageOf(t), level);
    const [first, other] = [
      bottleneck(RESNET_50, level, true, grid),
      bottleneck(RESNET_50, level, false, grid),
    ];
    const name = `backbone.layer${level + 1}`;
    // These are no modules that checkpointing wraps.
    return [first, ...new Array<Block>(blocks - 1).fill(other)].map((body, index) =>
      hiddenStage(`${name}.${index}`, 'embedding', 1, body),
    );
  });
  return [stem, ...levels];
}

/** Features to tokens of the model's width, and the positions of each, which are no weights. */
function projectionStage({ hidden }: Sizes): Stage {
  return {
    name: 'input_projection',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const x = t.enter(take(flow, 'hidden'), 'hidden');
      const [images = 1, , cells = 1] = x.shape;
      const made = convolution(t, x, {
        name: 'input_projection',
        kernel: [hidden, RESNET_CHANNELS, 1, 1],
        out: [images, hidden, cells],
        bias: true,
      });
      flow.set('hidden', t.view(made, [images, cells, hidden]));
      // Made anew for each batch (`DetrSinePositionEmbedding`).
      const places = { shape: [images, cells, hidden], dtype: t.settings.weightDtype };
      flow.set('positions', t.fused({ name: 'positions', inputs: [], outputs: [places] }));
    },
  };
}

type Side = 'encoder' | 'decoder';

interface Attending {
  readonly module: string;
  readonly side: Side;
  /** What queries, keys and values are made of, `[b, n, h]` each. */
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
  /** What may be found is never filled up; images are, where a batch holds several sizes. */
  readonly masked?: false;
}

/** Queries and keys of sums with positions, values without (`DetrSelfAttention`, `DetrCrossAttention`). */
function attention(
  t: Tracer,
  sizes: Sizes,
  { module, side, queries, keys, values, masked }: Attending,
): Tensor {
  return t.scope(() => {
    const project = (x: Tensor, part: string) =>
      t.linear(x, { name: `${module}.${part}_proj`, out: sizes.hidden, bias: true });
    const q = t.hold(project(t.hold(queries), 'q'));
    const k = t.hold(project(t.hold(keys), 'k'));
    const context = attend(t, {
      name: `${module}.attention`,
      batch: queries.shape[0],
      q,
      k,
      v: t.hold(project(values, 'v')),
      heads: sizes.heads[side],
      keyValueHeads: sizes.heads[side],
      headDim: sizes.hidden / sizes.heads[side],
      causal: false,
      dropout: sizes.attentionDropout,
      fp32Softmax: false,
      masked,
    });
    return t.linear(context, { name: `${module}.out_proj`, out: sizes.hidden, bias: true });
  });
}

/** A norm behind a residual sum: `[b, n, h]` in and out. */
function normedSum(t: Tracer, x: Tensor, sizes: Sizes, norm: string, body: () => Tensor): Tensor {
  return t.scope(() => {
    t.hold(x);
    const out = t.hold(t.dropout(body(), sizes.dropout, 'dropout'));
    return layerNormed(norm)(t, t.hold(t.add(x, out, 'residual')));
  });
}

function feedForward(t: Tracer, x: Tensor, sizes: Sizes, side: Side): Tensor {
  return normedSum(t, x, sizes, 'final_layer_norm', () => {
    const up = t.linear(x, { name: 'fc1', out: sizes.inner[side], bias: true });
    const active = t.dropout(
      applyActivation(t, up, sizes.activation),
      sizes.activationDropout,
      'activation_dropout',
    );
    return t.linear(active, { name: 'fc2', out: sizes.hidden, bias: true });
  });
}

function encoderLayer(sizes: Sizes): Stage['trace'] {
  return (t, flow) => {
    const positions = t.enter(take(flow, 'positions'), 'positions');
    const x = t.enter(take(flow, 'hidden'), 'hidden');
    const mixed = normedSum(t, x, sizes, 'self_attn_layer_norm', () => {
      const placed = t.add(x, positions, 'self_attn.positions');
      return attention(t, sizes, {
        module: 'self_attn',
        side: 'encoder',
        queries: placed,
        keys: placed,
        values: x,
      });
    });
    flow.set('hidden', feedForward(t, mixed, sizes, 'encoder'));
  };
}

/** The encoder's result, and one row of a table for each thing that may be found. */
function queryStage({ hidden, queries }: Sizes): Stage {
  return {
    name: 'query_position_embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const encoded = t.enter(take(flow, 'hidden'), 'hidden');
      const images = encoded.shape[0] ?? 1;
      const table = t.weight({ name: 'query_position_embeddings.weight', shape: [queries, hidden] });
      const shape = [images, queries, hidden];
      flow.set('encoder', encoded);
      flow.set(
        'queries',
        t.fused({
          name: 'query_position_embeddings.repeat',
          inputs: [],
          outputs: [{ shape, dtype: t.settings.weightDtype }],
          weights: [table],
        }),
      );
      const zeros = { shape, dtype: t.settings.weightDtype };
      flow.set('hidden', t.fused({ name: 'queries', inputs: [], outputs: [zeros] }));
    },
  };
}

function decoderLayer(sizes: Sizes): Stage['trace'] {
  return (t, flow) => {
    const [positions, encoder, queries, x] = ['positions', 'encoder', 'queries', 'hidden'].map((part) =>
      t.enter(take(flow, part), part),
    );
    if (!positions || !encoder || !queries || !x) return;
    const own = normedSum(t, x, sizes, 'self_attn_layer_norm', () => {
      const placed = t.add(x, queries, 'self_attn.positions');
      return attention(t, sizes, {
        module: 'self_attn',
        side: 'decoder',
        queries: placed,
        keys: placed,
        values: x,
        masked: false,
      });
    });
    const seen = normedSum(t, own, sizes, 'encoder_attn_layer_norm', () =>
      attention(t, sizes, {
        module: 'encoder_attn',
        side: 'decoder',
        queries: t.add(own, queries, 'encoder_attn.query_positions'),
        keys: t.add(encoder, positions, 'encoder_attn.key_positions'),
        values: encoder,
      }),
    );
    flow.set('hidden', feedForward(t, seen, sizes, 'decoder'));
  };
}

/** Labels and boxes of all queries. What is matched on the host is a few numbers. */
function head(sizes: Sizes): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      const labels = (t.settings.labels ?? sizes.labels) + 1;
      const logits = t.linear(hidden, {
        name: 'class_labels_classifier',
        out: labels,
        bias: true,
        role: 'head',
      });
      const wide = (x: Tensor, index: number, out: number) =>
        t.linear(x, { name: `bbox_predictor.layers.${index}`, out, bias: true, role: 'head' });
      const once = applyActivation(t, wide(hidden, 0, sizes.hidden), 'relu');
      const twice = applyActivation(t, wide(once, 1, sizes.hidden), 'relu');
      const boxes = t.keepOutput(wide(twice, 2, 4), 'bbox.sigmoid');
      const scored = t.settings.autocast ? t.cast(logits, 'fp32', 'loss.float') : logits;
      const probabilities = t.softmax(scored, 'loss.log_softmax');
      flow.set(
        'loss',
        t.fused({
          name: 'loss',
          inputs: [probabilities, boxes],
          outputs: [{ shape: [1], dtype: scored.dtype }],
          savesInputs: [probabilities, boxes],
        }),
      );
    },
  };
}

function detr(config: ConfigReader): Architecture {
  const sizes = read(config);
  const layers = (side: Side, trace: Stage['trace']): Stage => ({
    name: `${side}.layers`,
    role: 'layer',
    count: sizes.layers[side],
    trace,
  });
  const norm: Stage = {
    name: 'decoder.layernorm',
    role: 'norm',
    count: 1,
    trace: (t, flow) =>
      flow.set('hidden', layerNormed('decoder.layernorm')(t, t.enter(take(flow, 'hidden'), 'hidden'))),
  };
  return {
    figures: {
      hiddenSize: sizes.hidden,
      layers: sizes.layers.encoder + sizes.layers.decoder,
      attentionHeads: sizes.heads.encoder,
      keyValueHeads: sizes.heads.encoder,
      vocabulary: sizes.labels,
      sampleLength: {
        tokens: cellsOf(LARGEST),
        ofPixels: (pixels) => cellsOf(squareOf(pixels)),
        note: () => say('the cells of the grid that the largest image gives'),
      },
    },
    stages: [
      ...backboneStages(config.sizeOr(3, 'num_channels')),
      projectionStage(sizes),
      layers('encoder', encoderLayer(sizes)),
      queryStage(sizes),
      layers('decoder', decoderLayer(sizes)),
      norm,
      head(sizes),
    ],
    notes: [
      say(
        'the backbone is trained as a whole, as in transformers 5: releases before leave its first levels as they are and need less',
      ),
    ],
    imageNotes: imagesOfSides(LARGEST.rows, LARGEST.columns),
  };
}

/** DETR: a convolutional backbone, an encoder over its features, and a decoder of one query for each thing that may be found. */
export const detrFamily: ModelFamily = {
  modelTypes: ['detr'],
  build: detr,
};
