import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import { plainMlp } from '../layers/mlp';
import { patchEmbedding } from '../layers/patch-embedding';
import { residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { ImageNote } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { patchesOf, poolingHeadWeights, readTower, siglipPatches, type VisionTower } from './vision-tower';

/** Features of `factor x factor` patches side by side, `[images, patches / factor^2, hidden x factor^2]`. */
function joined(t: Tracer, x: Tensor, factor: number): Tensor {
  const [images = 1, patches = 1, hidden = 1] = x.shape;
  return t.copy(x, [images, Math.floor(patches / factor ** 2), hidden * factor ** 2], 'pixel_shuffle');
}

const linear =
  (name: string, out: number, bias: boolean): Block =>
  (t, x) =>
    t.linear(x, { name, out, bias });

const inTiles = (tokens: number, most: number): ImageNote => ({
  text: say(
    'an image is cut into {1} tiles of {0} tokens at most; `batch.imageTiles` states how many',
    String(tokens),
    String(most),
  ),
  unless: ['batch.imageTiles'],
});

/**
 * Four by four tiles and the whole image: every image is scaled to four times a tile's side first (`image_processing_idefics3.py`, `size`,
 * `max_image_size`).
 */
const IDEFICS_TILES = 4 * 4 + 1;
/** Twelve tiles and the whole image (`image_processing_got_ocr2.py`, `max_patches`; `processing_internvl.py`, `crop_to_patches`). */
const INTERN_TILES = 12 + 1;
/** Ten tiles and the whole image, where it is larger than one of them (`image_processing_lfm2_vl.py`, `max_tiles`, `tile_size`). */
const LFM_TILES = 10 + 1;
const LFM_TILE_PIXELS = 512 ** 2;

/** Idefics 3 and SmolVLM: SigLIP, patches joined, one linear layer. */
export function ideficsTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const factor = outer.sizeOr(2, 'scale_factor');
  const patches = patchesOf(sizes);
  const tokens = Math.floor(patches / factor ** 2);
  const prefix = 'vision_model.';
  return {
    name: 'vision_model',
    embed: siglipPatches(prefix, sizes),
    layers: new Array<Block>(sizes.layers).fill(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES })),
    after: layerNormed(`${prefix}post_layernorm`),
    project: (t, x) => linear('connector.modality_projection.proj', width, false)(t, joined(t, x, factor)),
    tokens,
    tiles: () => IDEFICS_TILES,
    note: inTiles(tokens, IDEFICS_TILES),
  };
}

/** LFM2-VL: SigLIP 2 over patches as one linear layer, patches joined, a projector of two. */
export function lfmTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const patchSize = config.size('patch_size');
  const rows = config.size('num_patches');
  const sizes = {
    hidden: config.size('hidden_size'),
    layers: config.size('num_hidden_layers'),
    heads: config.size('num_attention_heads'),
    inner: config.size('intermediate_size'),
    activation: config.text('gelu_pytorch_tanh', 'hidden_act'),
  };
  const factor = outer.sizeOr(2, 'downsample_factor');
  // `Lfm2VlImageProcessor`.
  const tokens = outer.sizeOr(256, 'max_image_tokens');
  const patches = tokens * factor ** 2;
  const bias = outer.flag(true, 'projector_bias');
  const between = outer.size('projector_hidden_size');
  const prefix = 'vision_tower.';
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const values = config.sizeOr(3, 'num_channels') * patchSize ** 2;
      const pixels = t.input([images, patches, values], inputDtype(t.settings), false, 'pixel_values');
      const x = t.linear(pixels, {
        name: `${prefix}embeddings.patch_embedding`,
        out: sizes.hidden,
        bias: true,
      });
      const table = t.weight({
        name: `${prefix}embeddings.position_embedding.weight`,
        shape: [rows, sizes.hidden],
        role: 'embedding',
      });
      return t.addWeight(x, table, 'positions');
    },
    layers: new Array<Block>(sizes.layers).fill(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES })),
    after: layerNormed(`${prefix}post_layernorm`),
    project: (t, x) => {
      // The pooling head is there unless the config states otherwise; nobody reads what it gives.
      if (config.flag(true, 'vision_use_head')) poolingHeadWeights(t, `${prefix}head`, sizes);
      const side = joined(t, x, factor);
      const normed = outer.flag(true, 'projector_use_layernorm')
        ? layerNormed('multi_modal_projector.layer_norm')(t, side)
        : side;
      const up = linear('multi_modal_projector.linear_1', between, bias)(t, normed);
      const activated = applyActivation(t, up, outer.text('gelu', 'projector_hidden_act'));
      return linear('multi_modal_projector.linear_2', width, bias)(t, activated);
    },
    tokens,
    tiles: ({ settings: { imagePixels } }) =>
      imagePixels !== undefined && imagePixels <= LFM_TILE_PIXELS ? 1 : LFM_TILES,
    note: { ...inTiles(tokens, LFM_TILES), unless: ['batch.imageTiles', 'batch.imagePixels'] },
  };
}

/** A number, or the first of a pair. */
function side(config: ConfigReader, name: string): number {
  const pair = config.isList(name) ? config.list(name) : undefined;
  return typeof pair?.[0] === 'number' ? pair[0] : config.size(name);
}

/** A layer of InternVL's ViT, whose branches are scaled by a learned vector. */
function internLayer(config: ConfigReader, prefix: string): Block {
  const hidden = config.size('hidden_size');
  const heads = config.size('num_attention_heads');
  const inner = config.size('intermediate_size');
  const dropout = config.dropout('hidden_dropout_prob');
  const activation = config.text('gelu', 'hidden_act');
  const normOf = (name: string) =>
    config.text('layer_norm', 'norm_type') === 'rms_norm'
      ? rms(`${prefix}${name}`)
      : layerNormed(`${prefix}${name}`);
  const scaled =
    (name: string): Block =>
    (t, x) =>
      t.mulWeight(x, t.weight({ name: `${prefix}${name}`, shape: [hidden] }), name);
  const mixer = selfAttention({
    module: `${prefix}attention`,
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    projections: { q: 'q_proj', k: 'k_proj', v: 'v_proj' },
    output: 'projection_layer',
    bias: { qkv: config.flag(false, 'attention_bias'), output: true },
    norm: config.flag(false, 'use_qk_norm') ? { kind: 'full' } : undefined,
    rotary: 0,
    causal: false,
    dropout: config.dropout('attention_dropout'),
    outputDropout: config.dropout('projection_dropout'),
  });
  const projections = { up: 'fc1', down: 'fc2' };
  return (t, x) =>
    residualLayer(t, x, {
      beforeMixer: normOf('layernorm_before'),
      mixer,
      afterMixer: scaled('lambda_1'),
      beforeFeedForward: normOf('layernorm_after'),
      feedForward: (tracer, y) =>
        tracer.dropout(
          plainMlp(tracer, y, { name: `${prefix}mlp`, inner, activation, bias: true, projections }),
          dropout,
          'dropout',
        ),
      afterFeedForward: scaled('lambda_2'),
    });
}

/** InternVL: a ViT with layer scales, patches joined, a norm and two linear layers. */
export function internTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const hidden = config.size('hidden_size');
  const prefix = 'vision_tower.';
  const layer = internLayer(config, prefix);
  const patchSize = side(config, 'patch_size');
  const patches = patchesOf({ imageSize: side(config, 'image_size'), patchSize });
  const factor = Math.floor(1 / outer.number(0.5, 'downsample_ratio'));
  const tokens = Math.floor(patches / factor ** 2);
  const dropout = config.dropout('hidden_dropout_prob');
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      if (config.flag(false, 'use_mask_token'))
        t.weight({ name: `${prefix}embeddings.mask_token`, shape: [hidden] });
      const x = patchEmbedding(t, {
        name: `${prefix}embeddings.patch_embeddings.projection`,
        hidden,
        images,
        patches,
        patchSize,
        channels: config.sizeOr(3, 'num_channels'),
        bias: true,
        positions: config.flag(true, 'use_absolute_position_embeddings')
          ? `${prefix}embeddings.position_embeddings`
          : undefined,
        classToken: `${prefix}embeddings.cls_token`,
      });
      return t.dropout(x, dropout, 'embedding_dropout');
    },
    layers: new Array<Block>(config.size('num_hidden_layers')).fill(layer),
    after: config.flag(true, 'use_mean_pooling') ? undefined : layerNormed(`${prefix}layernorm`),
    project: (t, x) => {
      const kept = t.slice(x, [x.shape[0] ?? 1, patches, hidden]);
      const normed = layerNormed('multi_modal_projector.layer_norm')(t, joined(t, kept, factor));
      const up = linear('multi_modal_projector.linear_1', width, true)(t, normed);
      const activated = applyActivation(t, up, outer.text('gelu', 'projector_hidden_act'));
      return linear('multi_modal_projector.linear_2', width, true)(t, activated);
    },
    tokens,
    tiles: () => INTERN_TILES,
    note: inTiles(tokens, INTERN_TILES),
  };
}
