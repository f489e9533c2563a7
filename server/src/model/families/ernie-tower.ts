import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { freeSize, mergedPatches, mergedRows, plainQwenLayer, type VisionTower } from './vision-tower';

/** Two linear layers and a norm (`Ernie4_5_VLMoeVisionMLP`). */
function resampled(t: Tracer, x: Tensor, name: string, out: number): Tensor {
  const up = t.linear(x, { name: `${name}.fc1`, out, bias: true });
  const down = t.linear(applyActivation(t, up, 'gelu'), { name: `${name}.fc2`, out, bias: true });
  return layerNormed(`${name}.ln`)(t, down);
}

/**
 * ERNIE 4.5 VL: Qwen2-VL's layers over patches of one linear layer, four patches joined and then two frames, of which an image is both
 * (transformers 5.23, `Ernie4_5_VLMoeVariableResolutionResamplerModel`).
 */
export function ernieTower(config: ConfigReader, width: number): VisionTower {
  const prefix = 'vision_tower.';
  const hidden = config.size('hidden_size');
  const patchSize = config.size('patch_size');
  const merge = config.size('spatial_merge_size');
  const frames = config.size('temporal_merge_size');
  const joined = hidden * merge ** 2;
  const { tokens } = mergedPatches(patchSize, merge);
  const layer = plainQwenLayer(config, prefix, {
    hidden,
    heads: config.size('num_heads'),
    inner: config.size('intermediate_size'),
  });
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const { patches } = mergedPatches(patchSize, merge, t.settings.imagePixels);
      const values = config.size('in_channels') * patchSize ** 2;
      const pixels = t.input([images, patches, values], inputDtype(t.settings), false, 'pixel_values');
      return t.linear(pixels, { name: `${prefix}patch_embed.proj`, out: hidden });
    },
    layers: new Array<Block>(config.size('depth')).fill(layer),
    after: layerNormed(`${prefix}ln`),
    project: (t, x) => {
      const name = 'resampler_model.';
      const spatial = resampled(t, t.view(x, mergedRows(x, merge)), `${name}spatial_linear`, joined);
      const [images = 1, rows = 1] = spatial.shape;
      const both = t.concat(
        new Array<Tensor>(frames).fill(spatial),
        [images, rows, frames * joined],
        'temporal',
      );
      const temporal = resampled(t, both, `${name}temporal_linear`, joined);
      const projected = t.linear(temporal, { name: `${name}mlp`, out: width, bias: true });
      return rms(`${name}after_norm`)(t, projected);
    },
    tokens,
    note: freeSize(tokens),
  };
}
