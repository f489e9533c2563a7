import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { type Block, layerNormed, rms } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { rmsNorm } from '../layers/norm';
import { residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { Stage } from '../model';
import { inputDtype } from '../trace-settings';
import { heardStage } from './unheard-tower';
import { mustFit, readEncoder, type VisionTower } from './vision-tower';

const gemma = (name: string) => rms(name, 'gemma');

/** Tokens of an image where no config states them (`Gemma4Processor`, `image_seq_length`). */
const IMAGE_TOKENS = 280;

/** Gemma 4's ViT: patches as one linear layer, a table of positions a direction, four norms a layer, patches averaged. */
export function gemma4Tower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const prefix = 'vision_tower.';
  const { hidden, layers, heads, inner, patchSize: patch } = readEncoder(config);
  const rows = config.size('position_embedding_size');
  const tokens = config.sizeOr(
    outer.sizeOr(IMAGE_TOKENS, 'vision_soft_tokens_per_image'),
    'default_output_length',
  );
  const patches = tokens * config.size('pooling_kernel_size') ** 2;
  const activation = config.text('gelu_pytorch_tanh', 'hidden_activation');
  const mixer = selfAttention({
    module: `${prefix}self_attn`,
    hidden,
    heads,
    keyValueHeads: config.sizeOr(heads, 'num_key_value_heads'),
    headDim: config.sizeOr(hidden / heads, 'head_dim'),
    projections: { q: 'q_proj.linear', k: 'k_proj.linear', v: 'v_proj.linear' },
    output: 'o_proj.linear',
    norm: { kind: 'head', style: 'gemma' },
    normsValues: true,
    causal: false,
    dropout: config.dropout('attention_dropout'),
  });
  const projections = { gate: 'gate_proj.linear', up: 'up_proj.linear', down: 'down_proj.linear' };
  const layer: Block = (t, x) =>
    residualLayer(t, x, {
      beforeMixer: gemma(`${prefix}input_layernorm`),
      mixer,
      afterMixer: gemma(`${prefix}post_attention_layernorm`),
      beforeFeedForward: gemma(`${prefix}pre_feedforward_layernorm`),
      feedForward: (tracer, y) =>
        gatedMlp(tracer, y, { name: `${prefix}mlp`, inner, activation, projections }),
      afterFeedForward: gemma(`${prefix}post_feedforward_layernorm`),
    });
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const pixels = t.input([images, patches, 3 * patch * patch], inputDtype(t.settings), false, 'pixels');
      const x = t.linear(pixels, { name: `${prefix}patch_embedder.input_proj`, out: hidden });
      const ids = t.input([images, patches], 'int64', false, 'pixel_position_ids');
      const table = {
        name: `${prefix}patch_embedder.position_embedding_table`,
        rows: 2 * rows,
        columns: hidden,
      };
      return t.add(x, t.embedding(ids, table), 'positions');
    },
    layers: new Array<Block>(layers).fill(layer),
    project: (t, x) => {
      const wide = t.cast(x, 'fp32', 'pooler.float');
      const pooled = t.reduce(wide, [x.shape[0] ?? 1, tokens, hidden], 'pooler');
      const narrow = t.cast(pooled, x.dtype, 'pooler.to');
      const normed = rmsNorm(t, narrow, { name: 'embed_vision.norm', style: 'gemma', gain: false });
      return t.linear(normed, { name: 'embed_vision.embedding_projection', out: width });
    },
    tokens,
    note: { text: say('an image takes {0} tokens at most', String(tokens)) },
  };
}

/**
 * Gemma 4 12B, without an encoder: each merged patch of pixels through a linear layer between norms, positions of two
 * directions from one table, and the projection to the text.
 */
export function gemma4Patches(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const prefix = 'embed_vision.';
  const hidden = config.size('mm_embed_dim');
  const rows = config.size('mm_posemb_size');
  mustFit(config, 'output_proj_dims', hidden);
  const values = 3 * (config.size('patch_size') * config.size('pooling_kernel_size')) ** 2;
  const tokens = config.sizeOr(outer.sizeOr(IMAGE_TOKENS, 'vision_soft_tokens_per_image'), 'num_soft_tokens');
  return {
    name: 'embed_vision',
    embed: (t, images) => {
      const pixels = t.input([images, tokens, values], inputDtype(t.settings), false, 'pixels');
      const patches = t.linear(layerNormed(`${prefix}patch_ln1`)(t, pixels), {
        name: `${prefix}patch_dense`,
        out: hidden,
        bias: true,
      });
      const x = layerNormed(`${prefix}patch_ln2`)(t, patches);
      const ids = t.input([images, tokens, 2], 'int64', false, 'image_position_ids');
      const both = t.embedding(ids, { name: `${prefix}pos_embedding`, rows: 2 * rows, columns: hidden });
      const valid = t.input([images, tokens, 2, 1], both.dtype, false, 'valid');
      const positions = t.reduce(t.mul(both, valid, 'positions.valid'), x.shape, 'positions.sum');
      return layerNormed(`${prefix}pos_norm`)(t, t.add(x, positions, 'positions'));
    },
    layers: [],
    project: (t, x) => {
      const name = `${prefix}multimodal_embedder`;
      const normed = rmsNorm(t, x, { name: `${name}.norm`, style: 'gemma', gain: false });
      return t.linear(normed, { name: `${name}.embedding_projection`, out: width });
    },
    tokens,
    note: { text: say('an image takes {0} tokens at most', String(tokens)) },
  };
}

/**
 * What leads frames of sound to the text of Gemma 4 12B, which has no encoder for them either: a norm and a linear layer
 * (`Gemma4UnifiedMultimodalEmbedder`, transformers 5.23). Every token of a sample is taken to be a frame: how many are, the data tells.
 */
export function gemma4Frames(config: ConfigReader, width: number): Stage[] {
  const values = config.size('audio_embed_dim');
  return [
    heardStage('embed_audio', (t) => {
      const { batch, sequence } = t.settings;
      const frames = t.input([batch, sequence, values], inputDtype(t.settings), false, 'input_features');
      const normed = rmsNorm(t, frames, { name: 'embed_audio.norm', style: 'gemma', gain: false });
      return t.linear(normed, { name: 'embed_audio.embedding_projection', out: width });
    }),
  ];
}
