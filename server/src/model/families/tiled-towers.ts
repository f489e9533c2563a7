import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import type { Tracer } from '../tracer';
import {
  ASSUMED_SIDE,
  llavaTower,
  patchesOf,
  poolingHeadWeights,
  readTower,
  siglipPatches,
  type VisionTower,
} from './vision-tower';

/** Height and width of a grid of tiles, in pixels. */
type Resolution = readonly [height: number, width: number];

/** `LlavaNextConfig`, `image_grid_pinpoints`. */
const NEXT_GRIDS: readonly Resolution[] = [
  [336, 672],
  [672, 336],
  [672, 672],
  [1008, 336],
  [336, 1008],
];

/** Grids of up to six by six tiles of 384 pixels (`LlavaOnevisionConfig`, `image_grid_pinpoints`). */
const ONEVISION_GRIDS: readonly Resolution[] = [1, 2, 3, 4, 5, 6].flatMap((rows) =>
  [1, 2, 3, 4, 5, 6].map((columns): Resolution => [384 * rows, 384 * columns]),
);

function gridsOf(config: ConfigReader, byDefault: readonly Resolution[]): readonly Resolution[] {
  const stated = (config.list('image_grid_pinpoints') ?? []).flatMap((pair) => {
    const [height, width] = Array.isArray(pair) ? (pair as readonly unknown[]) : [];
    return typeof height === 'number' && typeof width === 'number' && height > 0 && width > 0
      ? [[height, width] as const]
      : [];
  });
  return stated.length > 0 ? stated : byDefault;
}

/** The grid that keeps most of a square image of `side` pixels and wastes least (`select_best_resolution`). */
function bestGrid(side: number, grids: readonly Resolution[]): Resolution {
  let [best = [side, side] as const] = grids;
  let [kept, wasted] = [0, Number.POSITIVE_INFINITY];
  for (const [height, width] of grids) {
    const scaled = Math.floor(Math.min(height, width)) ** 2;
    const effective = Math.min(scaled, side * side);
    const waste = height * width - effective;
    if (effective < kept || (effective === kept && waste >= wasted)) continue;
    [best, kept, wasted] = [[height, width], effective, waste];
  }
  return best;
}

/** Tiles of one square image, the whole image as one of them, and the tokens that they take with an end of each line. */
function tilesOf(pixels: number | undefined, grids: readonly Resolution[], size: number, patches: number) {
  const [height, width] = bestGrid(Math.floor(Math.sqrt(pixels ?? ASSUMED_SIDE ** 2)), grids);
  const [rows, columns] = [Math.ceil(height / size), Math.ceil(width / size)];
  const line = Math.round(Math.sqrt(patches));
  return { tiles: rows * columns + 1, tokens: (rows * columns + 1) * patches + rows * line };
}

/**
 * The tower on tiles of an image: each passes it as an image of its own, features of all are joined with a learned end of
 * each line (transformers 5.23, `modeling_llava_next.py`, `pack_image_features`).
 */
function tiled(tower: VisionTower, size: number, grids: readonly Resolution[], width: number): VisionTower {
  const of = (t: Tracer) => tilesOf(t.settings.imagePixels, grids, size, tower.tokens).tiles;
  const { tiles, tokens } = tilesOf(undefined, grids, size, tower.tokens);
  return {
    ...tower,
    embed: (t, images) => tower.embed(t, images * of(t)),
    project: (t, x) => {
      const projected = tower.project(t, x);
      t.weight({ name: 'image_newline', shape: [width] });
      return projected;
    },
    tokens,
    note: {
      text: say(
        'an image of {0} × {0} pixels is cut into {1} tiles, {2} tokens',
        String(ASSUMED_SIDE),
        String(tiles),
        String(tokens),
      ),
      unless: ['batch.imagePixels'],
    },
  };
}

/** LLaVA 1.6 (NeXT): the tower of LLaVA 1.5 on tiles. */
export function nextTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const tower = llavaTower(config, outer, width);
  return tiled(tower, config.size('image_size'), gridsOf(outer, NEXT_GRIDS), width);
}

/** LLaVA-OneVision: SigLIP on tiles, of which features are read before its last norm. */
export function oneVisionTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const patches = patchesOf(sizes);
  const prefix = 'vision_tower.';
  const bias = outer.flag(true, 'multimodal_projector_bias');
  const layer = encoderLayer({ prefix, ...sizes, names: CLIP_NAMES });
  const tower: VisionTower = {
    name: 'vision_tower',
    embed: siglipPatches(prefix, sizes),
    layers: new Array(sizes.layers).fill(layer),
    project: (t, x) => {
      for (const part of ['weight', 'bias'])
        t.weight({ name: `${prefix}post_layernorm.${part}`, shape: [sizes.hidden] });
      if (config.flag(true, 'vision_use_head')) poolingHeadWeights(t, `${prefix}head`, sizes);
      const up = t.linear(x, { name: 'multi_modal_projector.linear_1', out: width, bias });
      const activated = applyActivation(t, up, outer.text('gelu', 'projector_hidden_act'));
      return t.linear(activated, { name: 'multi_modal_projector.linear_2', out: width, bias });
    },
    tokens: patches,
    note: { text: '' },
  };
  return tiled(tower, sizes.imageSize, gridsOf(outer, ONEVISION_GRIDS), width);
}
