import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import { convolution } from '../layers/convolution';
import { gatedMlp } from '../layers/mlp';
import { residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import { freeSize, mergedPatchEmbedding, mergedPatches, mustFit, type VisionTower } from './vision-tower';

/**
 * GLM-4.1V to 4.6V (`Glm4vVisionModel`): patches of two frames, a table of positions that is stretched over the image, rotary
 * positions, gated MLPs as wide as the result; a convolution joins four patches, a gated projector follows.
 */
export function glmTower(config: ConfigReader, width: number): VisionTower {
  const prefix = 'visual.';
  const hidden = config.size('hidden_size');
  const heads = config.size('num_heads');
  const patchSize = config.size('patch_size');
  const merge = config.size('spatial_merge_size');
  const out = config.size('out_hidden_size');
  const inner = config.size('intermediate_size');
  const activation = config.text('silu', 'hidden_act');
  const grid = Math.floor(config.size('image_size') / patchSize) ** 2;
  const { tokens } = mergedPatches(patchSize, merge);
  mustFit(config, 'out_hidden_size', width, out);
  const mixer = selfAttention({
    module: `${prefix}attn`,
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    projections: 'qkv',
    output: 'proj',
    bias: { qkv: config.flag(false, 'attention_bias'), output: false },
    causal: false,
    dropout: config.dropout('attention_dropout'),
  });
  const layer: Block = (t, x) =>
    residualLayer(t, x, {
      beforeMixer: rms(`${prefix}norm1`),
      mixer,
      beforeFeedForward: rms(`${prefix}norm2`),
      feedForward: (tracer, y) => gatedMlp(tracer, y, { name: `${prefix}mlp`, inner: out, activation }),
    });
  return {
    name: 'visual.blocks',
    embed: (t, images) => {
      const x = mergedPatchEmbedding(t, {
        name: `${prefix}patch_embed.proj`,
        hidden,
        images,
        merge,
        patchSize,
        channels: config.sizeOr(3, 'in_channels'),
        frames: config.size('temporal_patch_size'),
        bias: true,
      });
      const normed = rms(`${prefix}post_conv_layernorm`)(t, x);
      const table = t.weight({
        name: `${prefix}embeddings.position_embedding.weight`,
        shape: [grid, hidden],
        role: 'embedding',
      });
      return t.addWeight(normed, table, 'positions');
    },
    layers: new Array<Block>(config.size('depth')).fill(layer),
    after: rms(`${prefix}post_layernorm`),
    project: (t, x) => {
      const [images = 1, patches = 1] = x.shape;
      const joined = convolution(t, x, {
        name: `${prefix}downsample`,
        kernel: [out, hidden, merge, merge],
        out: [images, patches / merge ** 2, out],
        bias: true,
      });
      const name = `${prefix}merger`;
      const projected = t.linear(joined, { name: `${name}.proj`, out });
      const activated = applyActivation(t, layerNormed(`${name}.post_projection_norm`)(t, projected), 'gelu');
      return gatedMlp(t, activated, { name, inner, activation });
    },
    tokens,
    note: freeSize(tokens),
  };
}
