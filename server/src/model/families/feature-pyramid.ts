import { convolution } from '../layers/convolution';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { take } from './decoder-model';
import { imagesOf } from './image-encoders';
import { bottleneck, type Grid, levelGrid, type ResNet, resnetStem } from './resnet-backbone';

/**
 * ResNeXt-101 of 32 groups of 8 channels (detectron2 0.6, `modeling/backbone/resnet.py`, by the settings of LayoutLMv2's config,
 * `get_default_detectron2_config`).
 */
const RESNEXT_101: ResNet = {
  stem: 64,
  levels: [
    { inner: 256, out: 256, blocks: 3 },
    { inner: 512, out: 512, blocks: 4 },
    { inner: 1024, out: 1024, blocks: 23 },
    { inner: 2048, out: 2048, blocks: 3 },
  ],
  groups: 32,
  names: {
    stem: 'stem.conv1',
    stemNorm: 'stem.conv1.norm',
    shortcut: 'shortcut',
    shortcutNorm: 'shortcut.norm',
  },
  keepsType: true,
};

/** Channels of every level of the pyramid. */
export const PYRAMID_CHANNELS = 256;

const PREFIX = 'visual.backbone';
const levelName = (level: number) => `res${level + 2}`;

/** Cells of a square image's features at a level: the first has a quarter of each side. */
const gridOf = (pixels: number, level: number): Grid => levelGrid({ rows: pixels, columns: pixels }, level);

/** Pixels of a square image, less their mean and over their deviation: the batch holds the first, the model's own forward the last. */
function stemStage(side: number): Stage {
  return {
    name: `${PREFIX}.bottom_up.stem`,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const image = { rows: side, columns: side };
      const pixels = t.input([imagesOf(t), 3, side * side], inputDtype(t.settings), false, 'image');
      const scaled = t.scale(t.shift(pixels, 'image.mean'), 'image.deviation');
      flow.set('hidden', resnetStem(t, scaled, image, RESNEXT_101));
    },
  };
}

/**
 * A feature pyramid over a residual network, of square images of so many pixels a side: the stages up to the finest level, which they leave as
 * `pyramid`, `[images, 256, cells]`. The other levels' last convolutions are made and read by nobody (`FPN.forward`).
 */
export function pyramidStages(side: number): Stage[] {
  const levels = RESNEXT_101.levels.flatMap(({ blocks }, level) =>
    new Array<number>(blocks).fill(level).map((_, index): Stage => {
      const body = bottleneck(RESNEXT_101, level, index === 0, () => gridOf(side, level));
      return {
        name: `${PREFIX}.bottom_up.${levelName(level)}.${index}`,
        role: 'embedding',
        count: 1,
        trace: (t, flow) => {
          const out = body(t, t.enter(take(flow, 'hidden'), 'hidden'));
          flow.set('hidden', out);
          if (index === blocks - 1) flow.set(levelName(level), out);
        },
      };
    }),
  );
  const pyramid: Stage = {
    name: PREFIX,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const features = RESNEXT_101.levels.map((_, level) =>
        t.enter(take(flow, levelName(level)), levelName(level)),
      );
      flow.set(
        'pyramid',
        t.scope(() => finest(t, features, side)),
      );
    },
  };
  return [stemStage(side), ...levels, pyramid];
}

/** From the coarsest level down: what came before, twice as large, is added to a level's own features. */
function finest(t: Tracer, features: readonly Tensor[], side: number): Tensor {
  const cells = (level: number) => {
    const { rows, columns } = gridOf(side, level);
    return rows * columns;
  };
  const shape = (level: number) => [features[0]?.shape[0] ?? 1, PYRAMID_CHANNELS, cells(level)];
  let merged: Tensor | undefined;
  for (let level = features.length - 1; level >= 0; level--) {
    const x = features[level];
    if (!x) continue;
    const lateral = convolution(t, x, {
      name: `fpn_lateral${level + 2}`,
      kernel: [PYRAMID_CHANNELS, x.shape[1] ?? 1, 1, 1],
      out: shape(level),
      bias: true,
    });
    merged = merged ? t.add(lateral, doubled(t, merged, shape(level)), 'top_down') : lateral;
    t.hold(merged);
    if (level > 0) unread(t, level, shape(level));
  }
  return convolution(t, merged ?? t.input(shape(0), 'fp32', false), {
    name: 'fpn_output2',
    kernel: [PYRAMID_CHANNELS, PYRAMID_CHANNELS, 3, 3],
    out: shape(0),
    bias: true,
  });
}

/** Each cell four times (`interpolate(scale_factor=2, mode="nearest")`), which keeps nothing. */
function doubled(t: Tracer, x: Tensor, shape: readonly number[]): Tensor {
  return t.fused({ name: 'interpolate', inputs: [x], outputs: [{ shape, dtype: x.dtype }] });
}

/** The last convolution of a level that nobody reads: its weights are there and get no gradient, its result lives until the pyramid is made. */
function unread(t: Tracer, level: number, shape: readonly number[]): void {
  const name = `fpn_output${level + 2}`;
  t.weight({ name: `${name}.weight`, shape: [PYRAMID_CHANNELS, PYRAMID_CHANNELS, 3, 3] });
  t.weight({ name: `${name}.bias`, shape: [PYRAMID_CHANNELS] });
  const dtype = t.settings.autocast ? t.settings.computeDtype : t.settings.weightDtype;
  const flops = 2 * shape.reduce((a, b) => a * b, 1) * PYRAMID_CHANNELS * 9;
  t.hold(t.fused({ name, inputs: [], outputs: [{ shape, dtype }], flops }));
}

/** Pixels of features to their mean over `side x side` fields (`AdaptiveAvgPool2d`, which keeps what it was given): `[images, fields, 256]`. */
export function pooledFields(t: Tracer, x: Tensor, side: number): Tensor {
  const [images = 1, channels = 1] = x.shape;
  const shape = [images, channels, side * side];
  const pooled = t.fused({
    name: 'visual.pool',
    inputs: [x],
    outputs: [{ shape, dtype: x.dtype }],
    savesInputs: [x],
  });
  return t.copy(pooled, [images, side * side, channels], 'visual.contiguous');
}
