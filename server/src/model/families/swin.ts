import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { convolution } from '../layers/convolution';
import { dropPath } from '../layers/drop-path';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import {
  imageSide,
  imagesOfSide,
  labelStage,
  poolingStage,
  sideOfPixels,
  squareImages,
} from './classified-images';
import { layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { windowAttention } from './window-attention';

/** A level of the encoder: the first has the finest grid. */
interface Level {
  readonly index: number;
  readonly hidden: number;
  readonly depth: number;
  readonly heads: number;
}

interface Sizes {
  readonly levels: readonly Level[];
  readonly channels: number;
  readonly patch: number;
  readonly window: number;
  readonly ratio: number;
  readonly bias: boolean;
  readonly activation: string;
  readonly dropout: number;
  readonly attentionDropout: number;
  readonly pathRate: number;
  readonly positions: boolean;
}

function read(config: ConfigReader): Sizes {
  const [depths = [], heads = []] = ['depths', 'num_heads'].map((name) =>
    (config.list(name) ?? []).map(Number),
  );
  if (depths.length === 0) throw new ConfigError(say('"{0}" is missing', 'depths'));
  if (heads.length < depths.length) throw new ConfigError(say('"{0}" is missing', 'num_heads'));
  const width = config.size('embed_dim');
  return {
    levels: depths.map((depth, index) => ({
      index,
      hidden: width * 2 ** index,
      depth,
      heads: heads[index] ?? 1,
    })),
    channels: config.sizeOr(3, 'num_channels'),
    patch: config.size('patch_size'),
    window: config.size('window_size'),
    ratio: config.number(4, 'mlp_ratio'),
    bias: config.flag(true, 'qkv_bias'),
    activation: config.text('gelu', 'hidden_act'),
    dropout: config.dropout('hidden_dropout_prob'),
    attentionDropout: config.dropout('attention_probs_dropout_prob'),
    pathRate: config.dropout('drop_path_rate'),
    positions: config.flag(false, 'use_absolute_embeddings'),
  };
}

/** Sides of the first grid in patches: what does not fill one is filled up. */
const gridSide = (t: Tracer, config: ConfigReader, { patch }: Sizes): number =>
  Math.ceil(imageSide(t, config) / patch);

/** Patches by a convolution and their norm, `[images, patches, h]`. */
function patchStage(config: ConfigReader, sizes: Sizes): Stage {
  const { channels, patch, levels, positions, dropout } = sizes;
  const hidden = levels[0]?.hidden ?? 1;
  return {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const cells = gridSide(t, config, sizes) ** 2;
      const pixels = squareImages(t, channels, imageSide(t, config));
      const images = pixels.shape[0] ?? 1;
      const made = convolution(t, pixels, {
        name: 'embeddings.patch_embeddings.projection',
        kernel: [hidden, channels, patch, patch],
        out: [images, cells, hidden],
        bias: true,
      });
      const normed = layerNormed('embeddings.norm')(t, made);
      const rows = Math.floor(config.size('image_size') / patch) ** 2;
      const placed = positions
        ? t.addWeight(
            normed,
            t.weight({ name: 'embeddings.position_embeddings', shape: [rows, hidden], role: 'embedding' }),
            'positions',
          )
        : normed;
      flow.set('hidden', t.dropout(placed, dropout, 'embedding_dropout'));
    },
  };
}

/** What a block is of its level: whether its windows are shifted, and how often its branches are left out. */
interface Kind {
  readonly shifted: boolean;
  readonly rate: number;
}

/** `SwinLayer`. `[images, cells, h]` in and out. */
function block(level: Level, sizes: Sizes, { shifted, rate }: Kind): Block {
  const { hidden, heads } = level;
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const windowed = windowAttention(t, layerNormed('layernorm_before')(t, x), {
        hidden,
        heads,
        window: sizes.window,
        shifted,
        bias: sizes.bias,
        dropout: sizes.dropout,
        attentionDropout: sizes.attentionDropout,
      });
      const sum = t.hold(t.add(x, dropPath(t, t.hold(windowed), rate), 'residual'));
      const normed = layerNormed('layernorm_after')(t, sum);
      const up = t.linear(normed, { name: 'mlp.fc1', out: Math.floor(sizes.ratio * hidden), bias: true });
      const down = t.linear(applyActivation(t, up, sizes.activation), {
        name: 'mlp.fc2',
        out: hidden,
        bias: true,
      });
      return t.add(t.dropout(down, sizes.dropout, 'mlp.dropout'), sum, 'residual');
    });
}

/** Four neighbours side by side, their norm, and a linear to twice the width; sides that are odd are filled up (`SwinPatchMerging`). */
function merged(t: Tracer, x: Tensor, { hidden }: Level): Tensor {
  const [images = 1, cells = 1] = x.shape;
  const quarter = Math.ceil(Math.sqrt(cells) / 2) ** 2;
  const even = 4 * quarter === cells ? x : t.copy(x, [images, 4 * quarter, hidden], 'downsample.pad');
  const neighbours = Array.from({ length: 4 }, () => t.slice(even, [images, quarter, hidden]));
  const joined = t.concat(neighbours, [images, quarter, 4 * hidden], 'downsample.neighbours');
  const normed = layerNormed('downsample.norm')(t, joined);
  return t.linear(normed, { name: 'downsample.reduction', out: 2 * hidden });
}

/** The end of a level: its features as an image, which the encoder names until the next level has ended, though nobody reads it. */
function levelEnd(level: Level, isLast: boolean): Stage {
  return {
    name: `encoder.layers.${level.index}.downsample`,
    role: 'embedding',
    count: 1,
    enclosed: 'inside',
    trace: (t, flow) =>
      t.scope(() => {
        const x = t.enter(take(flow, 'hidden'), 'hidden');
        if (level.index > 0) t.hold(t.enter(take(flow, 'image'), 'image'));
        const narrowed = isLast ? x : merged(t, x, level);
        const image = { ...t.copy(narrowed, narrowed.shape, 'image'), requiresGrad: false };
        // The encoder has returned when the last level is over.
        if (isLast) t.hold(image);
        else flow.set('image', image);
        flow.set('hidden', narrowed);
      }),
  };
}

function swin(config: ConfigReader): Architecture {
  const sizes = read(config);
  const { levels, pathRate } = sizes;
  const last = levels.at(-1);
  const body = levels.flatMap((level) => {
    const kinds = [false, true].map((shifted) =>
      [0, pathRate].map((rate) => block(level, sizes, { shifted, rate })),
    );
    const layers = Array.from({ length: level.depth }, (_, i) => {
      // Rates grow from none in the first block of all to that of the config in the last.
      const isFirst = level.index === 0 && i === 0;
      return kinds[i % 2]?.[isFirst || pathRate === 0 ? 0 : 1];
    }).flatMap((one) => one ?? []);
    const blocks = layerStages(`encoder.layers.${level.index}.blocks`, layers);
    // A level that ends in a norm and a linear layer keeps what enters those last (`SwinStage`).
    return [
      ...blocks.map(
        (stage): Stage => ({
          ...stage,
          enclosed: level === last && stage === blocks.at(-1) ? 'last' : 'inside',
        }),
      ),
      levelEnd(level, level === last),
    ];
  });
  const hidden = last?.hidden ?? 1;
  const counted = [
    patchStage(config, sizes),
    ...body,
    poolingStage({ norm: 'layernorm', hidden, normsMean: false }),
  ];
  return {
    figures: {
      hiddenSize: hidden,
      layers: levels.reduce((sum, { depth }) => sum + depth, 0),
      attentionHeads: last?.heads ?? 1,
      keyValueHeads: last?.heads ?? 1,
      vocabulary: config.labels(2),
      sampleLength: {
        tokens: Math.ceil(config.size('image_size') / sizes.patch) ** 2,
        ofPixels: (pixels) => Math.ceil(sideOfPixels(pixels) / sizes.patch) ** 2,
        note: () => say('the finest patches of an image: the model fixes them'),
      },
    },
    stages: [...counted, labelStage(config)],
    counted,
    imageNotes: imagesOfSide(config.size('image_size')),
  };
}

/** Swin: attention within windows of an image, every other time shifted by half, in levels that each have half the sides of the one before. */
export const swinFamily: ModelFamily = {
  modelTypes: ['swin'],
  build: swin,
};
