import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import {
  freeSize,
  mergedPatchEmbedding,
  mergedPatches,
  mergedRows,
  readEncoder,
  type VisionTower,
} from './vision-tower';

/** MiniMax M3: CLIP's layers over patches of two frames, rotated in three axes; each patch is projected, then four are merged. */
export function minimaxTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const prefix = 'vision_tower.';
  const { layers, ...sizes } = readEncoder(config);
  const { hidden, heads, patchSize } = sizes;
  const merge = config.size('spatial_merge_size');
  const headDim = hidden / heads;
  const projected = outer.size('projector_hidden_size');
  const { tokens } = mergedPatches(patchSize, merge);
  const layer = encoderLayer({
    prefix,
    ...sizes,
    activation: config.text('gelu', 'hidden_act'),
    attentionDropout: config.dropout('attention_dropout'),
    // A third of each head for each axis, in pairs (`compute_axial_rope_parameters`).
    rotary: (3 * 2 * Math.floor(Math.floor(headDim / 3) / 2)) / headDim,
    names: CLIP_NAMES,
  });
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const x = mergedPatchEmbedding(t, {
        name: `${prefix}embeddings.proj`,
        hidden,
        images,
        merge,
        patchSize,
        channels: config.size('num_channels'),
        frames: config.size('temporal_patch_size'),
      });
      return layerNormed(`${prefix}pre_layrnorm`)(t, x);
    },
    layers: new Array<Block>(layers).fill(layer),
    project: (t, x) => {
      const linear = (from: typeof x, name: string, out: number) =>
        t.linear(from, { name: `multi_modal_projector.${name}`, out, bias: true });
      const patches = linear(applyActivation(t, linear(x, 'linear_1', projected), 'gelu'), 'linear_2', width);
      const joined = t.view(patches, mergedRows(patches, merge));
      const up = applyActivation(t, linear(joined, 'merge_linear_1', projected), 'gelu');
      return linear(up, 'merge_linear_2', width);
    },
    tokens,
    note: freeSize(tokens),
  };
}
