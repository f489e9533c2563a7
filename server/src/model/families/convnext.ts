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
import { hiddenStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';

interface Sizes {
  readonly channels: number;
  readonly patch: number;
  readonly widths: readonly number[];
  readonly depths: readonly number[];
  readonly activation: string;
  /** Each block's result is multiplied by a learned vector. */
  readonly scales: boolean;
  readonly pathRate: number;
}

function read(config: ConfigReader): Sizes {
  const [widths = [], depths = []] = ['hidden_sizes', 'depths'].map((name) =>
    (config.list(name) ?? []).map(Number),
  );
  const count = config.size('num_stages');
  for (const [name, values] of [
    ['hidden_sizes', widths],
    ['depths', depths],
  ] as const)
    if (values.length !== count) throw new ConfigError(say('"{0}" is missing', name));
  return {
    channels: config.sizeOr(3, 'num_channels'),
    patch: config.size('patch_size'),
    widths,
    depths,
    activation: config.text('gelu', 'hidden_act'),
    scales: config.number(0, 'layer_scale_init_value') > 0,
    pathRate: config.dropout('drop_path_rate'),
  };
}

/** A norm over the channels of `[images, channels, cells]`, which are put last for it. */
function channelNorm(t: Tracer, x: Tensor, name: string): Tensor {
  const [images = 1, channels = 1, cells = 1] = x.shape;
  return t.view(layerNormed(name)(t, t.view(x, [images, cells, channels])), x.shape);
}

/** Patches by a convolution, and their norm. */
function patchStage(config: ConfigReader, { channels, patch, widths }: Sizes): Stage {
  const [width = 1] = widths;
  return {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const side = imageSide(t, config);
      const pixels = squareImages(t, channels, side);
      const made = convolution(t, pixels, {
        name: 'embeddings.patch_embeddings',
        kernel: [width, channels, patch, patch],
        out: [pixels.shape[0] ?? 1, width, Math.floor(side / patch) ** 2],
        bias: true,
      });
      flow.set('hidden', channelNorm(t, made, 'embeddings.layernorm'));
    },
  };
}

/** A norm, and a convolution that halves both sides and widens. */
function narrowing(index: number, from: number, to: number): Block {
  const name = 'downsampling_layer';
  return (t, x) => {
    const [images = 1, , cells = 1] = x.shape;
    const side = Math.max(1, Math.floor(Math.sqrt(cells) / 2));
    return convolution(t, channelNorm(t, x, `${name}.0`), {
      name: `encoder.stages.${index}.${name}.1`,
      kernel: [to, from, 2, 2],
      out: [images, to, side ** 2],
      bias: true,
    });
  };
}

/** `ConvNextLayer`: a convolution of each channel by itself, and two linears around an activation. `[images, width, cells]` in and out. */
function block(width: number, { activation, scales }: Sizes, rate: number): Block {
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const [images = 1, , cells = 1] = x.shape;
      // 7 x 7 cells, filled up by 3 at each edge (`ConvNextLayer.dwconv`).
      const spread = convolution(t, x, {
        name: 'dwconv',
        kernel: [width, 1, 7, 7],
        out: x.shape,
        bias: true,
      });
      const normed = layerNormed('layernorm')(t, t.view(spread, [images, cells, width]));
      const up = t.linear(normed, { name: 'pwconv1', out: 4 * width, bias: true });
      const down = t.linear(applyActivation(t, up, activation), { name: 'pwconv2', out: width, bias: true });
      const scaled = scales
        ? t.mulWeight(down, t.weight({ name: 'layer_scale_parameter', shape: [width] }), 'layer_scale')
        : down;
      return t.add(x, dropPath(t, t.view(scaled, x.shape), rate), 'residual');
    });
}

/** Modules that checkpointing does not wrap. */
function plainStages(name: string, body: Block, count: number): Stage[] {
  return count === 0 ? [] : [hiddenStage(name, 'embedding', count, body)];
}

function convnext(config: ConfigReader): Architecture {
  const sizes = read(config);
  const { widths, depths, pathRate, patch } = sizes;
  const body = depths.flatMap((depth, index) => {
    const [before = 1, width = 1] = [widths[index - 1], widths[index]];
    const name = `encoder.stages.${index}`;
    // Rates grow from none in the first block of all to that of the config in the last.
    const isPlain = pathRate === 0;
    const first = index === 0 && !isPlain ? 1 : 0;
    return [
      ...(index === 0 ? [] : plainStages(`${name}.downsampling_layer`, narrowing(index, before, width), 1)),
      ...plainStages(`${name}.layers`, block(width, sizes, 0), isPlain ? depth : first),
      ...plainStages(`${name}.layers`, block(width, sizes, pathRate), isPlain ? 0 : depth - first),
    ];
  });
  const hidden = widths.at(-1) ?? 1;
  const counted = [
    patchStage(config, sizes),
    ...body,
    poolingStage({ norm: 'layernorm', hidden, normsMean: true }),
  ];
  return {
    figures: {
      hiddenSize: hidden,
      layers: depths.reduce((sum, depth) => sum + depth, 0),
      attentionHeads: 1,
      keyValueHeads: 1,
      vocabulary: config.labels(2),
      sampleLength: {
        tokens: Math.floor(config.size('image_size') / patch) ** 2,
        ofPixels: (pixels) => Math.floor(sideOfPixels(pixels) / patch) ** 2,
        note: () => say('the finest patches of an image: the model fixes them'),
      },
    },
    stages: [...counted, labelStage(config)],
    counted,
    // `supports_gradient_checkpointing` is not set (transformers 5.23, `modeling_convnext.py`).
    recomputes: false,
    imageNotes: imagesOfSide(config.size('image_size')),
  };
}

/** ConvNeXt: convolutions alone, in levels that each have half the sides of the one before. */
export const convnextFamily: ModelFamily = {
  modelTypes: ['convnext'],
  build: convnext,
};
