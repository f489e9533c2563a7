import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { attend } from '../layers/attention';
import { batchNorm } from '../layers/batch-norm';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, classifies } from '../layers/classification';
import { convolution } from '../layers/convolution';
import { dropPath } from '../layers/drop-path';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { imagesOfSide, sideOfPixels } from './classified-images';
import { layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { imagesOf } from './image-encoders';

/** Pixels of a side of what the processor makes of an image, whatever it is (`SegformerImageProcessor`, `size`). */
const SIDE = 512;

/** A stage of the encoder. */
interface Level {
  readonly index: number;
  readonly from: number;
  readonly hidden: number;
  readonly depth: number;
  readonly heads: number;
  readonly inner: number;
  /** By how much keys and values are coarser, on each side. */
  readonly reduction: number;
  readonly kernel: number;
  readonly stride: number;
}

interface Sizes {
  readonly levels: readonly Level[];
  readonly channels: number;
  readonly decoder: number;
  readonly labels: number;
  readonly activation: string;
  readonly dropout: number;
  readonly attentionDropout: number;
  readonly classifierDropout: number;
  readonly pathRate: number;
}

function read(config: ConfigReader): Sizes {
  const list = (name: string) => {
    const values = (config.list(name) ?? []).map(Number);
    if (values.length === 0) throw new ConfigError(say('"{0}" is missing', name));
    return values;
  };
  if (!config.flag(true, 'reshape_last_stage'))
    throw new ConfigError(say('"{0}": false is not supported', 'reshape_last_stage'));
  const names = [
    'hidden_sizes',
    'depths',
    'num_attention_heads',
    'mlp_ratios',
    'sr_ratios',
    'patch_sizes',
    'strides',
  ];
  const [hidden, depths, heads, ratios, reductions, kernels, strides] = names.map(list);
  const channels = config.sizeOr(3, 'num_channels');
  const count = config.size('num_encoder_blocks');
  const levels = Array.from({ length: count }, (_, index): Level => {
    const of = (values: readonly number[] | undefined) => values?.[index] ?? 1;
    return {
      index,
      from: index === 0 ? channels : (hidden?.[index - 1] ?? 1),
      hidden: of(hidden),
      depth: of(depths),
      heads: of(heads),
      inner: Math.floor(of(hidden) * of(ratios)),
      reduction: of(reductions),
      kernel: of(kernels),
      stride: of(strides),
    };
  });
  return {
    levels,
    channels,
    decoder: config.size('decoder_hidden_size'),
    labels: config.labels(2),
    activation: config.text('gelu', 'hidden_act'),
    dropout: config.dropout('hidden_dropout_prob'),
    attentionDropout: config.dropout('attention_probs_dropout_prob'),
    classifierDropout: config.dropout('classifier_dropout_prob'),
    pathRate: config.dropout('drop_path_rate'),
  };
}

/** Side of an image in pixels. */
function sideOf({ settings: { imagePixels } }: Tracer): number {
  return imagePixels === undefined ? SIDE : sideOfPixels(imagePixels);
}

/** Sides of the grids that the levels give: convolutions with their kernel's half as filling. */
function gridsOf(t: Tracer, levels: readonly Level[]): number[] {
  let side = sideOf(t);
  return levels.map(({ kernel, stride }) => {
    side = Math.max(1, Math.floor((side + 2 * Math.floor(kernel / 2) - kernel) / stride) + 1);
    return side;
  });
}

/** Overlapping patches by a convolution, and their norm: `[images, from, side^2]` to `[images, patches, h]`. */
function patches(level: Level, levels: readonly Level[], channels: number): Stage {
  const name = `encoder.patch_embeddings.${level.index}`;
  return {
    name,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const images = imagesOf(t);
      const side = sideOf(t);
      const pixels = () =>
        t.batchInput([images, channels, side ** 2], inputDtype(t.settings), 'pixel_values');
      const x = level.index === 0 ? pixels() : t.enter(take(flow, 'hidden'), 'hidden');
      const grid = (gridsOf(t, levels)[level.index] ?? 1) ** 2;
      const { hidden, from, kernel } = level;
      const made = convolution(t, x, {
        name: `${name}.proj`,
        kernel: [hidden, from, kernel, kernel],
        out: [images, hidden, grid],
        bias: true,
      });
      flow.set('hidden', layerNormed(`${name}.layer_norm`)(t, t.view(made, [images, grid, hidden])));
    },
  };
}

/** Tokens of a grid, coarser by a convolution whose stride is its kernel, and their norm. `[images, n, h]` to `[images, n / r^2, h]`. */
function reduced(t: Tracer, x: Tensor, { hidden, reduction }: Level): Tensor {
  const [images = 1, tokens = 1] = x.shape;
  const coarse = Math.max(1, Math.floor(Math.sqrt(tokens) / reduction)) ** 2;
  const made = convolution(t, x, {
    name: 'attention.self.sr',
    kernel: [hidden, hidden, reduction, reduction],
    out: [images, hidden, coarse],
    bias: true,
  });
  return layerNormed('attention.self.layer_norm')(t, t.view(made, [images, coarse, hidden]));
}

/** Queries of all tokens on coarser keys and values (`SegformerEfficientSelfAttention`). `[images, n, h]` in and out. */
function attention(t: Tracer, x: Tensor, level: Level, dropout: number): Tensor {
  return t.scope(() => {
    const { hidden, heads, reduction } = level;
    const project = (from: Tensor, part: string) =>
      t.linear(from, { name: `attention.self.${part}`, out: hidden, bias: true });
    const q = t.hold(project(x, 'query'));
    const source = t.hold(reduction > 1 ? reduced(t, x, level) : x);
    const context = attend(t, {
      name: 'attention.self.attention',
      batch: x.shape[0],
      q,
      k: t.hold(project(source, 'key')),
      v: t.hold(project(source, 'value')),
      heads,
      keyValueHeads: heads,
      headDim: hidden / heads,
      causal: false,
      dropout,
    });
    return t.linear(context, { name: 'attention.output.dense', out: hidden, bias: true });
  });
}

/** Two linears with a depthwise convolution over the grid between them (`SegformerMixFFN`). `[images, n, h]` in and out. */
function mixed(t: Tracer, x: Tensor, { hidden, inner }: Level, sizes: Sizes): Tensor {
  const [images = 1, tokens = 1] = x.shape;
  const up = t.linear(x, { name: 'mlp.dense1', out: inner, bias: true });
  const spread = convolution(t, up, {
    name: 'mlp.dwconv.dwconv',
    kernel: [inner, 1, 3, 3],
    out: [images, inner, tokens],
    bias: true,
  });
  const active = applyActivation(t, spread, sizes.activation);
  const dropped = t.dropout(active, sizes.dropout, 'mlp.dropout');
  // The product wants tokens in rows: channels come first out of the convolution.
  const rows = t.copy(dropped, [images, tokens, inner], 'mlp.reshape');
  return t.dropout(
    t.linear(rows, { name: 'mlp.dense2', out: hidden, bias: true }),
    sizes.dropout,
    'mlp.dropout',
  );
}

/** `SegformerLayer`. `[images, n, h]` in and out. */
function block(level: Level, sizes: Sizes, rate: number): Block {
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const attended = attention(t, layerNormed('layer_norm_1')(t, x), level, sizes.attentionDropout);
      const dropped = t.dropout(attended, sizes.dropout, 'attention.output.dropout');
      const sum = t.hold(t.add(dropPath(t, dropped, rate), x, 'residual'));
      const fed = mixed(t, layerNormed('layer_norm_2')(t, sum), level, sizes);
      return t.add(dropPath(t, fed, rate), sum, 'residual');
    });
}

/** The norm of a level; its result is laid out as an image, which the next level and the decoder read. */
function levelEnd(level: Level): Stage {
  const name = `encoder.layer_norm.${level.index}`;
  return {
    name,
    role: 'norm',
    count: 1,
    trace: (t, flow) => {
      const normed = layerNormed(name)(t, t.enter(take(flow, 'hidden'), 'hidden'));
      const [images = 1, tokens = 1] = normed.shape;
      const image = t.copy(normed, [images, level.hidden, tokens], `${name}.image`);
      flow.set('hidden', image);
      flow.set(`level.${level.index}`, image);
    },
  };
}

/** `interpolate`: a new tensor even of the size that it is given, in fp32 under autocast (`autocast_mode.h`, fp32 list); keeps nothing. */
function stretched(t: Tracer, x: Tensor, shape: readonly number[], name: string): Tensor {
  const wide = t.settings.autocast ? t.cast(x, 'fp32', `${name}.float`) : x;
  return t.copy(wide, shape, name);
}

/** Levels of one width and one size side by side, a convolution, batch norm, and scores of each label for every pixel (`SegformerDecodeHead`). */
function decoded(t: Tracer, features: readonly Tensor[], sizes: Sizes): Tensor {
  return t.scope(() => decode(t, features, sizes));
}

function decode(t: Tracer, features: readonly Tensor[], sizes: Sizes): Tensor {
  const name = 'decode_head';
  const { decoder } = sizes;
  const grid = features[0]?.shape[2] ?? 1;
  const images = features[0]?.shape[0] ?? 1;
  const shape = [images, decoder, grid];
  const upscaled = features.map((x, index) => {
    const [, channels = 1, tokens = 1] = x.shape;
    const wide = t.linear(t.view(x, [images, tokens, channels]), {
      name: `${name}.linear_c.${index}.proj`,
      out: decoder,
      bias: true,
    });
    return t.hold(stretched(t, wide, shape, `${name}.interpolate`));
  });
  const joined = t.concat(upscaled, [images, decoder * features.length, grid], `${name}.levels`);
  const fused = convolution(t, joined, {
    name: `${name}.linear_fuse`,
    kernel: [decoder, decoder * features.length, 1, 1],
    out: shape,
  });
  const normed = batchNorm(t, fused, `${name}.batch_norm`, decoder);
  const active = t.dropout(applyActivation(t, normed, 'relu'), sizes.classifierDropout, `${name}.dropout`);
  return convolution(t, active, {
    name: `${name}.classifier`,
    kernel: [labelsOf(t, sizes), decoder, 1, 1],
    out: [images, labelsOf(t, sizes), grid],
    bias: true,
  });
}

const labelsOf = ({ settings }: Tracer, { labels }: Sizes): number => settings.labels ?? labels;

/** Scores stretched to the image, and the cross-entropy of every pixel. */
function pixelLoss(t: Tracer, scores: Tensor): Tensor {
  const [images = 1, labels = 1] = scores.shape;
  const pixels = sideOf(t) ** 2;
  const whole = t.hold(stretched(t, scores, [images, labels, pixels], 'loss.interpolate'));
  const wide = t.softmax(whole, 'loss.log_softmax');
  const targets = t.input([images, pixels], 'int64', false, 'labels');
  return t.fused({
    name: 'loss.nll',
    inputs: [wide, targets],
    outputs: [{ shape: [1], dtype: wide.dtype }],
    savesInputs: [wide, targets],
    kind: 'logits',
  });
}

/** Scores of every pixel, or of the mean of the last level where the run classifies images. */
function head(sizes: Sizes): Stage {
  const { levels } = sizes;
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) =>
      t.scope(() => {
        const features = levels.map(({ index }) =>
          t.hold(t.enter(take(flow, `level.${index}`), `level.${index}`)),
        );
        if (classifies(t)) {
          const last = features.at(-1);
          if (!last) return;
          const [images = 1, hidden = 1] = last.shape;
          const pooled = t.reduce(last, [images, hidden], 'mean');
          flow.set(
            'loss',
            classificationHead(t, pooled, { name: 'classifier', labels: labelsOf(t, sizes), bias: true }),
          );
          return;
        }
        flow.set('loss', pixelLoss(t, t.hold(decoded(t, features, sizes))));
      }),
  };
}

function segformer(config: ConfigReader): Architecture {
  const sizes = read(config);
  const { levels, pathRate } = sizes;
  const depth = levels.reduce((sum, level) => sum + level.depth, 0);
  const body = levels.flatMap((level) => {
    const [plain, dropping] = [block(level, sizes, 0), block(level, sizes, pathRate)];
    // Rates grow from none in the first layer of all to that of the config in the last.
    const layers = Array.from({ length: level.depth }, (_, i) =>
      (level.index === 0 && i === 0) || pathRate === 0 ? plain : dropping,
    );
    return [
      patches(level, levels, sizes.channels),
      ...layerStages(`stages.${level.index}.blocks`, layers),
      levelEnd(level),
    ];
  });
  const widest = levels.at(-1);
  return {
    figures: {
      hiddenSize: widest?.hidden ?? 1,
      layers: depth,
      attentionHeads: widest?.heads ?? 1,
      keyValueHeads: widest?.heads ?? 1,
      vocabulary: sizes.labels,
      sampleLength: {
        tokens: (SIDE / 4) ** 2,
        ofPixels: (pixels) => Math.ceil(sideOfPixels(pixels) / 4) ** 2,
        note: () => say('the finest patches of an image: the model fixes them'),
      },
    },
    stages: [...body, head(sizes)],
    counted: body,
    imageNotes: imagesOfSide(SIDE),
  };
}

/** SegFormer: an encoder of four levels, and a decoder of linear layers that labels pixels. */
export const segformerFamily: ModelFamily = {
  modelTypes: ['segformer'],
  build: segformer,
};
