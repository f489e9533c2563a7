import type { Block } from '../layers/block';
import { convolution } from '../layers/convolution';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** Sides of an image or of a grid of its features. */
export interface Grid {
  readonly rows: number;
  readonly columns: number;
}

/** What is left of a grid after a stride of two, by kernels that are filled up by their halves. */
const halved = ({ rows, columns }: Grid): Grid => ({
  rows: Math.ceil(rows / 2),
  columns: Math.ceil(columns / 2),
});

/** The grid of a level's features, of an image whose sides are given in pixels: the first level has a quarter of each side. */
export function levelGrid(image: Grid, level: number): Grid {
  let grid = halved(halved(image));
  for (let i = 0; i < level; i++) grid = halved(grid);
  return grid;
}

const cellsOf = ({ rows, columns }: Grid): number => rows * columns;

/** A residual network of bottlenecks. */
export interface ResNet {
  /** Channels of the stem. */
  readonly stem: number;
  /** Channels inside and outside of a block, and how many blocks there are, by level. */
  readonly levels: readonly { readonly inner: number; readonly out: number; readonly blocks: number }[];
  /** Groups of the middle convolution. */
  readonly groups: number;
  readonly names: Readonly<Record<'stem' | 'stemNorm' | 'shortcut' | 'shortcutNorm', string>>;
  /** Norms cast their numbers to the type of what they are given; else autocast raises it to theirs. */
  readonly keepsType: boolean;
}

/** ResNet-50 (timm 1.0.31, `models/resnet.py`). */
export const RESNET_50: ResNet = {
  stem: 64,
  levels: [
    { inner: 64, out: 256, blocks: 3 },
    { inner: 128, out: 512, blocks: 4 },
    { inner: 256, out: 1024, blocks: 6 },
    { inner: 512, out: 2048, blocks: 3 },
  ],
  groups: 1,
  names: {
    stem: 'backbone.conv1',
    stemNorm: 'backbone.bn1',
    shortcut: 'downsample.0',
    shortcutNorm: 'downsample.1',
  },
  keepsType: false,
};

/** Channels of what the last level gives. */
export const RESNET_CHANNELS = 2048;

/** What a norm adds to, and of which network it is. */
interface Normed {
  readonly of: ResNet;
  readonly name: string;
  readonly channels: number;
  readonly shortcut?: Tensor;
}

const normedType = (t: Tracer, x: Tensor, { keepsType }: ResNet) =>
  t.settings.autocast && !keepsType ? t.settings.weightDtype : x.dtype;

/**
 * Batch norm whose statistics and weights are buffers (`DetrFrozenBatchNorm2d`, detectron2's `FrozenBatchNorm2d`): a product and a sum with a number
 * for each channel, and ReLU in place of it. It keeps its result; `shortcut` is added in place first. Of any shape, as what comes out.
 */
function frozenNorm(t: Tracer, x: Tensor, { of, name, channels, shortcut }: Normed): Tensor {
  // Weight, bias, mean and variance.
  t.ownBuffer(name, 4 * channels, t.settings.weightDtype);
  const dtype = normedType(t, x, of);
  const bytes = x.elements * ELEMENT_BYTES[dtype];
  return t.fused({
    name,
    inputs: shortcut ? [x, shortcut] : [x],
    outputs: [{ shape: x.shape, dtype }],
    savesOutputs: [0],
    forwardScratch: bytes,
    backwardScratch: bytes,
  });
}

interface Convolved {
  readonly from: number;
  readonly out: number;
  readonly kernel: number;
  readonly grid: Grid;
}

function convolved(t: Tracer, x: Tensor, name: string, { from, out, kernel, grid }: Convolved): Tensor {
  return convolution(t, x, {
    name,
    kernel: [out, from, kernel, kernel],
    out: [x.shape[0] ?? 1, out, cellsOf(grid)],
  });
}

/** Pixels `[images, channels, rows x columns]` to features of a quarter of each side. */
export function resnetStem(t: Tracer, pixels: Tensor, image: Grid, of: ResNet): Tensor {
  const grid = halved(image);
  const { stem, names } = of;
  const made = convolved(t, pixels, names.stem, {
    from: pixels.shape[1] ?? 1,
    out: stem,
    kernel: 7,
    grid,
  });
  const active = frozenNorm(t, made, { of, name: names.stemNorm, channels: stem });
  const shape = [pixels.shape[0] ?? 1, stem, cellsOf(halved(grid))];
  // The pool keeps where each of its results came from, in 8 bytes.
  return t.fused({
    name: 'backbone.maxpool',
    inputs: [active],
    outputs: [{ shape, dtype: active.dtype }],
    savesInputs: [active],
    savesBytes: shape.reduce((a, b) => a * b, 1) * ELEMENT_BYTES.int64,
  });
}

/** Three convolutions around a sum; the first of a level also makes what is added, and halves the sides but in the first level. */
export function bottleneck(of: ResNet, level: number, isFirst: boolean, gridOf: (t: Tracer) => Grid): Block {
  const { inner, out } = of.levels[level] ?? { inner: of.stem, out: of.stem };
  const from = !isFirst ? out : (of.levels[level - 1]?.out ?? of.stem);
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const grid = gridOf(t);
      const before = isFirst && level > 0 ? { rows: 2 * grid.rows, columns: 2 * grid.columns } : grid;
      const entry = isFirst && level > 0 ? gridBefore(x, before) : grid;
      const narrow = convolved(t, x, 'conv1', { from, out: inner, kernel: 1, grid: entry });
      const first = frozenNorm(t, narrow, { of, name: 'bn1', channels: inner });
      const middle = convolved(t, first, 'conv2', { from: inner / of.groups, out: inner, kernel: 3, grid });
      const second = frozenNorm(t, middle, { of, name: 'bn2', channels: inner });
      const wide = convolved(t, second, 'conv3', { from: inner, out, kernel: 1, grid });
      if (!isFirst) return frozenNorm(t, wide, { of, name: 'bn3', channels: out, shortcut: x });
      const side = convolved(t, x, of.names.shortcut, { from, out, kernel: 1, grid });
      const shortcut = plainNorm(t, side, { of, name: of.names.shortcutNorm, channels: out });
      return frozenNorm(t, wide, { of, name: 'bn3', channels: out, shortcut });
    });
}

/** The grid of `[images, channels, cells]`: as many cells as there are. */
const gridBefore = (x: Tensor, { columns }: Grid): Grid => ({ rows: (x.shape[2] ?? 1) / columns, columns });

/** The same norm without what follows it: nothing but its numbers is kept. */
function plainNorm(t: Tracer, x: Tensor, { of, name, channels }: Normed): Tensor {
  t.ownBuffer(name, 4 * channels, t.settings.weightDtype);
  const dtype = normedType(t, x, of);
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype }],
    forwardScratch: x.elements * ELEMENT_BYTES[dtype],
  });
}
