import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { encoderLayer } from '../layers/encoder-layer';
import { freeSize, mergedPatchEmbedding, mergedPatches, mergedRows, type VisionTower } from './vision-tower';

/** Names of the config on the hub, beside those of transformers' class. */
const NAMES = {
  hidden: ['vt_hidden_size', 'hidden_size'],
  layers: ['vt_num_hidden_layers', 'num_hidden_layers'],
  heads: ['vt_num_attention_heads', 'num_attention_heads'],
  inner: ['vt_intermediate_size', 'intermediate_size'],
  height: ['init_pos_emb_height', 'pos_emb_height'],
  width: ['init_pos_emb_width', 'pos_emb_width'],
} as const;

/** Kimi K2.5: MoonViT, a grid of positions that is stretched over the image, patches merged two by two into a projector. */
export function moonTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  // A name of the hub's is stated or absent; those of the class have defaults.
  const size = ([hub, own]: readonly [string, string]) => config.size(config.has(hub) ? hub : own);
  const prefix = 'vision_tower.';
  const hidden = size(NAMES.hidden);
  const patchSize = config.size('patch_size');
  const [merge = 2] = (config.list('merge_kernel_size') ?? []).map(Number);
  const grid = size(NAMES.height) * size(NAMES.width);
  const { tokens } = mergedPatches(patchSize, merge);
  const joined = hidden * merge * merge;
  const normed = config.has('mm_hidden_size')
    ? config.size('mm_hidden_size')
    : outer.sizeOr(hidden, 'projection_hidden_size');
  if (normed !== hidden) {
    throw new ConfigError(
      say(
        '"{0}" is {1}, where the model needs {2}',
        config.pathOf('mm_hidden_size'),
        String(normed),
        String(hidden),
      ),
    );
  }
  const layer = encoderLayer({
    prefix,
    hidden,
    heads: size(NAMES.heads),
    inner: size(NAMES.inner),
    activation: config.text('gelu_pytorch_tanh', 'hidden_act'),
    rotary: 1,
    names: {
      attention: 'attn',
      output: 'proj',
      norms: ['norm1', 'norm2'],
      mlp: 'mlp',
      up: 'fc1',
      down: 'fc2',
    },
  });
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const x = mergedPatchEmbedding(t, {
        name: `${prefix}patch_embed.proj`,
        hidden,
        images,
        merge,
        patchSize,
        bias: true,
      });
      const positions = t.weight({
        name: `${prefix}patch_embed.pos_emb.position_embeddings`,
        shape: [grid, hidden],
        role: 'embedding',
      });
      return t.addWeight(x, positions, 'positions');
    },
    layers: new Array<Block>(size(NAMES.layers)).fill(layer),
    after: layerNormed(`${prefix}final_layernorm`),
    project: (t, x) => {
      const rows = t.view(layerNormed('mm_projector.pre_norm')(t, x), mergedRows(x, merge));
      const up = t.linear(rows, { name: 'mm_projector.in_proj', out: joined, bias: true });
      return t.linear(applyActivation(t, up, 'gelu'), {
        name: 'mm_projector.out_proj',
        out: width,
        bias: true,
      });
    },
    tokens,
    note: freeSize(tokens),
  };
}
