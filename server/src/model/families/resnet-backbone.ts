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
export const halved = ({ rows, columns }: Grid): Grid => ({
  rows: Math.ceil(rows / 2),
  columns: Math.ceil(columns / 2),
});

const cellsOf = ({ rows, columns }: Grid): number => rows * columns;

/** Width inside of a block, and how many blocks there are, by level (ResNet-50; timm 1.0.31, `models/resnet.py`). */
export const RESNET_50: readonly { readonly inner: number; readonly blocks: number }[] = [
  { inner: 64, blocks: 3 },
  { inner: 128, blocks: 4 },
  { inner: 256, blocks: 6 },
  { inner: 512, blocks: 3 },
];
/** Channels of the stem, and by how much a block is wider outside than inside. */
const [STEM, EXPANSION] = [64, 4];

/** Channels of what the last level gives. */
export const RESNET_CHANNELS = 512 * EXPANSION;

/**
 * Batch norm whose statistics and weights are buffers (`DetrFrozenBatchNorm2d`): a product and a sum with a number for each channel, in their type,
 * and ReLU in place of it. It keeps its result; `shortcut` is added in place first. Of any shape, as what comes out.
 */
function frozenNorm(t: Tracer, x: Tensor, name: string, channels: number, shortcut?: Tensor): Tensor {
  // Weight, bias, mean and variance.
  t.buffer(name, 4 * channels, t.settings.weightDtype);
  const dtype = t.settings.autocast ? t.settings.weightDtype : x.dtype;
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
export function resnetStem(t: Tracer, pixels: Tensor, image: Grid): Tensor {
  const grid = halved(image);
  const made = convolved(t, pixels, 'backbone.conv1', {
    from: pixels.shape[1] ?? 1,
    out: STEM,
    kernel: 7,
    grid,
  });
  const active = frozenNorm(t, made, 'backbone.bn1', STEM);
  const shape = [pixels.shape[0] ?? 1, STEM, cellsOf(halved(grid))];
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
export function bottleneck(level: number, isFirst: boolean, gridOf: (t: Tracer) => Grid): Block {
  const inner = RESNET_50[level]?.inner ?? 64;
  const out = inner * EXPANSION;
  const from = !isFirst ? out : level === 0 ? STEM : out / 2;
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const grid = gridOf(t);
      const before = isFirst && level > 0 ? { rows: 2 * grid.rows, columns: 2 * grid.columns } : grid;
      const entry = isFirst && level > 0 ? gridBefore(x, before) : grid;
      const narrow = convolved(t, x, 'conv1', { from, out: inner, kernel: 1, grid: entry });
      const first = frozenNorm(t, narrow, 'bn1', inner);
      const middle = convolved(t, first, 'conv2', { from: inner, out: inner, kernel: 3, grid });
      const second = frozenNorm(t, middle, 'bn2', inner);
      const wide = convolved(t, second, 'conv3', { from: inner, out, kernel: 1, grid });
      if (!isFirst) return frozenNorm(t, wide, 'bn3', out, x);
      const side = convolved(t, x, 'downsample.0', { from, out, kernel: 1, grid });
      return frozenNorm(t, wide, 'bn3', out, plainNorm(t, side, 'downsample.1', out));
    });
}

/** The grid of `[images, channels, cells]`: as many cells as there are. */
const gridBefore = (x: Tensor, { columns }: Grid): Grid => ({ rows: (x.shape[2] ?? 1) / columns, columns });

/** The same norm without what follows it: nothing but its numbers is kept. */
function plainNorm(t: Tracer, x: Tensor, name: string, channels: number): Tensor {
  t.buffer(name, 4 * channels, t.settings.weightDtype);
  const dtype = t.settings.autocast ? t.settings.weightDtype : x.dtype;
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype }],
    forwardScratch: x.elements * ELEMENT_BYTES[dtype],
  });
}
