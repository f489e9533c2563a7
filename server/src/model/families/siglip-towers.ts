import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import type { Tracer } from '../tracer';
import {
  freeSize,
  mergedPatchEmbedding,
  mergedPatches,
  mergedRows,
  mustFit,
  patchesOf,
  poolingHeadWeights,
  readTower,
  siglipPatches,
  type TowerSizes,
  type VisionTower,
} from './vision-tower';

/** PaliGemma: SigLIP, every patch a token, one linear layer. */
export function paliTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const patches = patchesOf(sizes);
  const prefix = 'vision_tower.';
  mustFit(outer, 'projection_dim', width, outer.size('projection_dim'));
  return {
    name: 'vision_tower',
    embed: siglipPatches(prefix, sizes),
    layers: new Array<Block>(sizes.layers).fill(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES })),
    after: layerNormed(`${prefix}post_layernorm`),
    project: (t, x) => {
      // The pooling head is there unless the config states otherwise; nobody reads what it gives.
      if (config.flag(true, 'vision_use_head')) poolingHeadWeights(t, `${prefix}head`, sizes);
      return t.linear(x, { name: 'multi_modal_projector.linear', out: width, bias: true });
    },
    tokens: patches,
    note: { text: say('an image takes {0} tokens', String(patches)) },
  };
}

/** Rows of a table of positions for packed images that the checkpoint's own code has, whatever the config states. */
const PACKED_POSITIONS = 2 ** 15;

/**
 * What the checkpoint's own code has and transformers' class leaves out: a second table of positions, and the pooling head
 * (`modeling_paddleocr_vl.py` of PaddlePaddle/PaddleOCR-VL: `SiglipVisionEmbeddings`, `SiglipVisionTransformer`); with both it is met to the weight.
 * Images run past both.
 */
function ownPaddleWeights(t: Tracer, prefix: string, config: ConfigReader, sizes: TowerSizes): void {
  t.weight({
    name: `${prefix}embeddings.packing_position_embedding.weight`,
    shape: [PACKED_POSITIONS, sizes.hidden],
    role: 'embedding',
    idle: true,
  });
  if (config.flag(true, 'vision_use_head')) poolingHeadWeights(t, `${prefix}head`, sizes);
}

/** PaddleOCR-VL: SigLIP with rotary positions beside a table that is stretched over the image, four patches merged. */
export function paddleTower(config: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const rows = patchesOf(sizes);
  const merge = config.size('spatial_merge_size');
  const joined = sizes.hidden * merge ** 2;
  const { tokens } = mergedPatches(sizes.patchSize, merge);
  const prefix = 'visual.vision_model.';
  return {
    name: 'visual.vision_model',
    embed: (t, images) => {
      const x = mergedPatchEmbedding(t, {
        name: `${prefix}embeddings.patch_embedding`,
        hidden: sizes.hidden,
        images,
        merge,
        patchSize: sizes.patchSize,
        channels: sizes.channels,
        bias: true,
      });
      const table = t.weight({
        name: `${prefix}embeddings.position_embedding.weight`,
        shape: [rows, sizes.hidden],
        role: 'embedding',
      });
      return t.addWeight(x, table, 'positions');
    },
    layers: new Array<Block>(sizes.layers).fill(
      encoderLayer({ prefix, ...sizes, names: CLIP_NAMES, rotary: 1 }),
    ),
    after: layerNormed(`${prefix}post_layernorm`),
    project: (t, x) => {
      if (t.settings.ownCode === true) ownPaddleWeights(t, prefix, config, sizes);
      const rowsOf = t.view(layerNormed('mlp_AR.pre_norm')(t, x), mergedRows(x, merge));
      const up = t.linear(rowsOf, { name: 'mlp_AR.linear_1', out: joined, bias: true });
      const activated = applyActivation(t, up, 'gelu');
      return t.linear(activated, { name: 'mlp_AR.linear_2', out: width, bias: true });
    },
    tokens,
    note: freeSize(tokens),
  };
}
