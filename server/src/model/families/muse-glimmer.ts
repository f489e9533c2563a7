import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import { encoderLayer } from '../layers/encoder-layer';
import { rmsNorm } from '../layers/norm';
import { residualLayer } from '../layers/residual';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention, llamaMlp } from './llama-parts';
import { figuresOf, layersOfKinds, readSizes } from './sizes';
import { freeSize, mergedPatches, mergedRows, mustFit, type VisionTower } from './vision-tower';

const gemma = (name: string) => rms(name, 'gemma');

/** A norm without a gain, over the width of its input. */
const plain =
  (name: string): Block =>
  (t, x) =>
    rmsNorm(t, x, { name, style: 'gemma', gain: false });

/** Every fourth layer, counted from the last, sees everything (`MuseGlimmerTextConfig`). */
function slidesAt(config: ConfigReader, layers: number): boolean[] {
  const types = config.list('layer_types');
  return Array.from({ length: layers }, (_, i) =>
    types ? types[i] === 'sliding_attention' : (layers - 1 - i) % 4 !== 0,
  );
}

/** Which layers rotate: those whose base is not 0, else all but every fourth, counted from the last. */
function rotatesAt(config: ConfigReader, layers: number): boolean[] {
  const bases = config.list('layer_rope_theta');
  return Array.from({ length: layers }, (_, i) =>
    bases ? Number(bases[i]) !== 0 : (layers - 1 - i) % 4 !== 0,
  );
}

/** Muse Glimmer: an embedding that is normed, four norms a layer, heads normed without a gain, a gate on attention. */
function build(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const window = config.count(0, 'sliding_window');
  const bias = config.flag(false, 'attention_bias');
  const slides = slidesAt(config, sizes.layers);
  const rotates = rotatesAt(config, sizes.layers);
  const layer = (kind: string): Block => {
    const attention = llamaAttention(sizes, {
      bias: { qkv: bias, output: bias },
      norm: { kind: 'l2', style: 'gemma', scalesQueries: true },
      rotary: kind.includes('rotated') ? 1 : 0,
      window: kind.includes('sliding') && window > 0 ? window : undefined,
      gate: 'gate_proj',
    });
    return (t, x) =>
      residualLayer(t, x, {
        beforeMixer: gemma('input_layernorm'),
        mixer: attention,
        afterMixer: gemma('post_attention_layernorm'),
        beforeFeedForward: gemma('pre_feedforward_layernorm'),
        feedForward: llamaMlp(sizes),
        afterFeedForward: gemma('post_feedforward_layernorm'),
      });
  };
  const kinds = slides.map((s, i) => `${s ? 'sliding' : 'full'} ${rotates[i] ? 'rotated' : 'plain'}`);
  return {
    figures: figuresOf(sizes),
    stages: decoderStages({
      embedding: {
        name: 'embed_tokens',
        rows: sizes.vocabulary,
        columns: sizes.hidden,
        after: plain('embed_tokens.embed_norm'),
      },
      layers: layersOfKinds(kinds, layer),
      finalNorm: gemma('norm'),
      head: {
        name: 'lm_head',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? 'embed_tokens.weight' : undefined,
        scale: true,
        softcap: true,
      },
    }),
  };
}

/** Patches of two frames as one linear layer, a grid of positions that is stretched over the image, four patches a token. */
export function museTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const prefix = 'vision_tower.';
  const hidden = config.size('hidden_size');
  const patchSize = config.size('patch_size');
  const merge = config.size('merge_size');
  const values = 3 * config.size('patch_temporal') * patchSize ** 2;
  const grid = config.size('pos_emb_height') * config.size('pos_emb_width');
  mustFit(outer, 'out_hidden_size', hidden * merge ** 2, outer.size('out_hidden_size'));
  const between = outer.size('projector_hidden_size');
  const activation = outer.text('gelu', 'projector_hidden_act');
  const { tokens } = mergedPatches(patchSize, merge);
  const layer = encoderLayer({
    prefix,
    hidden,
    heads: config.size('num_attention_heads'),
    inner: config.size('intermediate_size'),
    activation: config.text('gelu', 'hidden_act'),
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
  const adapted = (t: Tracer, x: Tensor, name: string) =>
    applyActivation(t, t.linear(x, { name: `vision_adapter.${name}`, out: between }), activation);
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const { patches } = mergedPatches(patchSize, merge, t.settings.imagePixels);
      const pixels = t.input([images, patches, values], t.settings.weightDtype, false, 'pixel_values');
      const x = t.linear(pixels, { name: `${prefix}patch_embedder.patch_embedding`, out: hidden });
      const table = t.weight({
        name: `${prefix}patch_embedder.position_embedding_table.weight`,
        shape: [grid, hidden],
        role: 'embedding',
      });
      return layerNormed(`${prefix}ln_pre`)(t, t.addWeight(x, table, 'positions'));
    },
    layers: new Array<Block>(config.size('num_hidden_layers')).fill(layer),
    after: layerNormed(`${prefix}ln_post`),
    project: (t, x) => {
      const rows = t.copy(x, mergedRows(x, merge), 'pixel_shuffle');
      const features = adapted(t, adapted(t, rows, 'fc1'), 'fc2');
      const projected = t.linear(features, { name: 'vision_projection', out: width });
      return plain('perception_emb_norm')(t, projected);
    },
    tokens,
    note: freeSize(tokens),
  };
}

export const museGlimmer: ModelFamily = { modelTypes: ['muse_glimmer_text'], build };
