import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import { gatedMlp } from '../layers/mlp';
import { type PatchEmbeddingSpec, patchEmbedding } from '../layers/patch-embedding';
import { residualLayer } from '../layers/residual';
import { LLAMA_PROJECTIONS, selfAttention } from '../layers/self-attention';
import type { Flow, ImageNote, Stage } from '../model';
import type { Tensor } from '../tape';
import { Tracer } from '../tracer';
import { take } from './decoder-model';

/** Layer of a tower, counted from 0, and what makes features of its result. */
interface Tap {
  readonly layer: number;
  readonly project: Block;
}

/** Name in the flow of what a tap gives. */
export function tapped(index: number): string {
  return `deepstack.${index}`;
}

/** A vision encoder in front of a language model, in the names of its reference code. */
export interface VisionTower {
  readonly name: string;
  /** Pixels of `images` images to `[images, tokens, hidden]`. */
  readonly embed: (t: Tracer, images: number) => Tensor;
  readonly layers: readonly Block[];
  readonly after?: Block;
  /** Tower output to what the language model reads, `[images, tokens, width]`. */
  readonly project: Block;
  /** Layers whose result is projected too, and added to the first layers of the language model (Qwen3-VL's DeepStack). */
  readonly taps?: readonly Tap[];
  /** Tiles that one image is cut into at most, the whole image as one of them, where the run states none; absent where it stays whole. */
  readonly tiles?: (t: Tracer) => number;
  /** Tokens that one image, or one tile, takes in the text. */
  readonly tokens: number;
  readonly note: ImageNote;
}

/**
 * Plays a part of the tower on this GPU's images, or on their tiles. A batch without images runs nothing of it, but its weights are there:
 * they are registered from a trace of one image.
 */
function onImages(t: Tracer, { tiles }: VisionTower, body: (tracer: Tracer, images: number) => void): void {
  const each = tiles ? (t.settings.imageTiles ?? tiles(t)) : 1;
  const images = t.settings.batch * t.settings.images * each;
  if (images > 0) {
    body(t, images);
    return;
  }
  t.registerWeightsOf((probe) => body(probe, 1));
}

/** Stages of the tower; they leave `images` for the embedding stage of the language model. */
export function towerStages(tower: VisionTower): Stage[] {
  const traces = new Map<Block, Stage['trace']>();
  const stages: Stage[] = [
    {
      name: `${tower.name}.embeddings`,
      role: 'embedding',
      count: 1,
      trace: (t, flow) =>
        onImages(t, tower, (tracer, images) => keep(t, tracer, flow, tower.embed(tracer, images))),
    },
  ];
  const throughTower =
    (body: Block): Stage['trace'] =>
    (t, flow) =>
      onImages(t, tower, (tracer, images) =>
        keep(t, tracer, flow, body(tracer, enterImages(t, tracer, flow, tower, images))),
      );
  for (const [index, body] of tower.layers.entries()) {
    const tap = tower.taps?.findIndex(({ layer }) => layer === index) ?? -1;
    const trace = tap < 0 ? (traces.get(body) ?? throughTower(body)) : throughTap(tower, body, tap);
    if (tap < 0) traces.set(body, trace);
    const last = stages.at(-1);
    if (last?.trace === trace) stages[stages.length - 1] = { ...last, count: last.count + 1 };
    else stages.push({ name: `${tower.name}.layers`, role: 'layer', count: 1, trace });
  }
  const { after, project } = tower;
  stages.push({
    name: 'multi_modal_projector',
    role: 'norm',
    count: 1,
    trace: throughTower((t, x) => project(t, after ? after(t, x) : x)),
  });
  return stages;
}

/** A layer of the tower whose result goes on and is projected besides. */
function throughTap(tower: VisionTower, body: Block, tap: number): Stage['trace'] {
  return (t, flow) =>
    onImages(t, tower, (tracer, images) => {
      const out = body(tracer, enterImages(t, tracer, flow, tower, images));
      const features = tower.taps?.[tap]?.project(tracer, tracer.hold(out));
      if (t !== tracer || !features) return;
      flow.set('images', out);
      flow.set(tapped(tap), features);
    });
}

function keep(t: Tracer, tracer: Tracer, flow: Flow, x: Tensor): void {
  if (t === tracer) flow.set('images', x);
}

/** The tower's state; for a probe without images, a stand-in of its shape. */
function enterImages(t: Tracer, tracer: Tracer, flow: Flow, tower: VisionTower, images: number): Tensor {
  if (t === tracer) return t.enter(take(flow, 'images'), 'images');
  const probe = new Tracer(t.settings);
  return tracer.enter(tower.embed(probe, images), 'images');
}

/** Refuses a tower whose parts do not fit each other: the model could not run, so its count would mean nothing. */
export function mustFit(
  config: ConfigReader,
  name: string,
  expected: number,
  value = config.stated(name),
): void {
  if (value === undefined || value === null || value === expected) return;
  throw new ConfigError(
    say('"{0}" is {1}, where the model needs {2}', config.pathOf(name), String(value), String(expected)),
  );
}

interface EncoderSizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly inner: number;
  readonly patchSize: number;
}

export interface TowerSizes extends EncoderSizes {
  readonly activation: string;
  readonly imageSize: number;
  readonly channels: number;
}

/** The sizes of a tower from `vision_config` that takes images of any size: patches in pixels of a side. */
export function readEncoder(config: ConfigReader): EncoderSizes {
  return {
    hidden: config.size('hidden_size'),
    layers: config.size('num_hidden_layers'),
    heads: config.size('num_attention_heads'),
    inner: config.size('intermediate_size'),
    patchSize: config.size('patch_size'),
  };
}

/** The sizes of a tower from `vision_config`: images and patches in pixels of a side. */
export function readTower(config: ConfigReader): TowerSizes {
  return {
    ...readEncoder(config),
    activation: config.text('gelu', 'hidden_act'),
    imageSize: config.size('image_size'),
    channels: config.sizeOr(3, 'num_channels'),
  };
}

/** Patches of one square image: tokens of the tower, what does not fill a patch left out. */
export function patchesOf(sizes: Pick<TowerSizes, 'imageSize' | 'patchSize'>): number {
  return Math.floor(sizes.imageSize / sizes.patchSize) ** 2;
}

/** SigLIP's first part: patches of an image by a convolution, with bias unless stated otherwise, and learned positions. */
export function siglipPatches(
  prefix: string,
  sizes: Pick<TowerSizes, 'hidden' | 'imageSize' | 'patchSize' | 'channels'> & { readonly bias?: false },
): VisionTower['embed'] {
  return (t, images) =>
    patchEmbedding(t, {
      name: `${prefix}embeddings.patch_embedding`,
      hidden: sizes.hidden,
      images,
      patches: patchesOf(sizes),
      patchSize: sizes.patchSize,
      channels: sizes.channels,
      bias: sizes.bias ?? true,
      positions: `${prefix}embeddings.position_embedding.weight`,
    });
}

function repeat(layer: Block, count: number): Block[] {
  return new Array<Block>(count).fill(layer);
}

function linear(name: string, out: number, bias: boolean): Block {
  return (t, x) => t.linear(x, { name, out, bias });
}

/** LLaVA 1.5: CLIP, its class token dropped, and a projector of two linears. */
function clipTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const patches = patchesOf(sizes);
  const prefix = 'vision_tower.';
  const bias = outer.flag(true, 'multimodal_projector_bias');
  const activation = outer.text('gelu', 'projector_hidden_act');
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const x = patchEmbedding(t, {
        name: `${prefix}embeddings.patch_embedding`,
        hidden: sizes.hidden,
        images,
        patches,
        patchSize: sizes.patchSize,
        channels: sizes.channels,
        positions: `${prefix}embeddings.position_embedding.weight`,
        classToken: `${prefix}embeddings.class_embedding`,
      });
      return layerNormed(`${prefix}pre_layrnorm`)(t, x);
    },
    layers: repeat(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES }), sizes.layers),
    project: (t, x) => {
      // The norm behind the last layer exists, but the features are read before it.
      t.weight({ name: `${prefix}post_layernorm.weight`, shape: [sizes.hidden] });
      t.weight({ name: `${prefix}post_layernorm.bias`, shape: [sizes.hidden] });
      const chosen = t.slice(x, [x.shape[0] ?? 1, patches, sizes.hidden]);
      const up = t.linear(chosen, { name: 'multi_modal_projector.linear_1', out: width, bias });
      const activated = applyActivation(t, up, activation);
      return linear('multi_modal_projector.linear_2', width, bias)(t, activated);
    },
    tokens: patches,
    note: { text: say('an image takes {0} tokens', String(patches)) },
  };
}

/** Weights of SigLIP's attention pooling (`SiglipMultiheadAttentionPoolingHead`). */
export function poolingHeadWeights(
  t: Tracer,
  path: string,
  { hidden, inner }: Pick<TowerSizes, 'hidden' | 'inner'>,
): void {
  const shapes: Readonly<Record<string, readonly number[]>> = {
    probe: [hidden],
    'attention.in_proj_weight': [3 * hidden, hidden],
    'attention.in_proj_bias': [3 * hidden],
    'attention.out_proj.weight': [hidden, hidden],
    'attention.out_proj.bias': [hidden],
    'layernorm.weight': [hidden],
    'layernorm.bias': [hidden],
    'mlp.fc1.weight': [inner, hidden],
    'mlp.fc1.bias': [inner],
    'mlp.fc2.weight': [hidden, inner],
    'mlp.fc2.bias': [hidden],
  };
  for (const [name, shape] of Object.entries(shapes))
    t.weight({ name: `${path}.${name}`, shape, idle: true });
}

/** Gemma 3: SigLIP at 896 pixels, pooled to 256 tokens. */
export function siglipTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const tokens = outer.sizeOr(256, 'mm_tokens_per_image');
  const prefix = 'vision_tower.';
  return {
    name: 'vision_tower',
    embed: siglipPatches(prefix, sizes),
    layers: repeat(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES }), sizes.layers),
    after: layerNormed(`${prefix}post_layernorm`),
    project: (t, x) => {
      // The pooling head is there unless the config states otherwise; nobody reads what it gives.
      if (config.flag(true, 'vision_use_head')) poolingHeadWeights(t, `${prefix}head`, sizes);
      const pooled = t.reduce(x, [x.shape[0] ?? 1, tokens, sizes.hidden], 'avg_pool');
      const normed = rms('multi_modal_projector.mm_soft_emb_norm', 'gemma')(t, pooled);
      const weight = t.weight({
        name: 'multi_modal_projector.mm_input_projection_weight',
        shape: [sizes.hidden, width],
      });
      return t.linearWith(normed, weight, { name: 'multi_modal_projector', out: width });
    },
    tokens,
    note: { text: say('an image takes {0} tokens', String(tokens)) },
  };
}

/** Pixtral's encoder, in sides of whole squares of `merge` patches. The size of the image is free; its largest is assumed unless stated. */
function pixtralEncoder(config: ConfigReader, merge: number) {
  const sizes = readTower(config);
  const largest = sizes.imageSize ** 2;
  const { tokens } = mergedPatches(sizes.patchSize, merge, largest);
  const prefix = 'vision_tower.';
  const layer: Block = (t, x) =>
    residualLayer(t, x, {
      beforeMixer: rms(`${prefix}attention_norm`),
      mixer: selfAttention({
        module: `${prefix}attention`,
        hidden: sizes.hidden,
        heads: sizes.heads,
        keyValueHeads: sizes.heads,
        headDim: sizes.hidden / sizes.heads,
        projections: LLAMA_PROJECTIONS,
        output: 'o_proj',
        causal: false,
      }),
      beforeFeedForward: rms(`${prefix}ffn_norm`),
      feedForward: (tracer, y) =>
        gatedMlp(tracer, y, {
          name: `${prefix}feed_forward`,
          inner: sizes.inner,
          activation: sizes.activation,
        }),
    });
  const embed: VisionTower['embed'] = (t, images) => {
    const pixels = Math.min(t.settings.imagePixels ?? largest, largest);
    const x = patchEmbedding(t, {
      name: `${prefix}patch_conv`,
      hidden: sizes.hidden,
      images,
      patches: mergedPatches(sizes.patchSize, merge, pixels).patches,
      patchSize: sizes.patchSize,
      channels: sizes.channels,
    });
    return rms(`${prefix}ln_pre`)(t, x);
  };
  return {
    sizes,
    parts: {
      name: 'vision_tower',
      embed,
      layers: repeat(layer, sizes.layers),
      tokens,
      note: {
        text: say(
          'images are taken to be {0} × {0} pixels, {1} tokens each',
          String(sizes.imageSize),
          String(tokens),
        ),
        unless: ['batch.imagePixels'] as const,
      },
    },
  };
}

/** Mistral 3: Pixtral, patches merged two by two. */
export function pixtralTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const merge = outer.sizeOr(2, 'spatial_merge_size');
  const { sizes, parts } = pixtralEncoder(config, merge);
  const bias = outer.flag(false, 'multimodal_projector_bias');
  return {
    ...parts,
    project: (t, x) => {
      const normed = rms('multi_modal_projector.norm')(t, x);
      const joined = t.copy(normed, mergedRows(normed, merge), 'unfold');
      const merging = linear('multi_modal_projector.patch_merger.merging_layer', sizes.hidden, false);
      const up = linear('multi_modal_projector.linear_1', width, bias)(t, merging(t, joined));
      const activated = applyActivation(t, up, outer.text('gelu', 'projector_hidden_act'));
      return linear('multi_modal_projector.linear_2', width, bias)(t, activated);
    },
  };
}

/** LLaVA's class with the tower that the config names: CLIP, or Pixtral, of which every patch is a token (Pixtral 12B). */
export function llavaTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  if (config.modelType === 'clip_vision_model') return clipTower(config, outer, width);
  if (config.modelType !== 'pixtral') {
    throw new ConfigError(say('the vision tower "{0}" is not supported', config.modelType));
  }
  const bias = outer.flag(true, 'multimodal_projector_bias');
  return {
    ...pixtralEncoder(config, 1).parts,
    project: (t, x) => {
      const up = linear('multi_modal_projector.linear_1', width, bias)(t, x);
      const activated = applyActivation(t, up, outer.text('gelu', 'projector_hidden_act'));
      return linear('multi_modal_projector.linear_2', width, bias)(t, activated);
    },
  };
}

/** Llama 4: a ViT with rotary positions, pixels shuffled two by two, an adapter and one linear. */
export function llama4Tower(config: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const patches = patchesOf(sizes);
  const ratio = config.number(0.5, 'pixel_shuffle_ratio');
  const tokens = patches * ratio * ratio;
  const input = config.size('projector_input_dim');
  const output = config.size('projector_output_dim');
  mustFit(config, 'intermediate_size', sizes.hidden / (ratio * ratio), sizes.inner);
  mustFit(config, 'projector_input_dim', output, input);
  mustFit(config, 'vision_output_dim', output);
  const prefix = 'vision_model.';
  const names = {
    ...CLIP_NAMES,
    norms: ['input_layernorm', 'post_attention_layernorm'] as const,
    output: 'o_proj',
  };
  return {
    name: 'vision_model',
    embed: (t, images) => {
      const x = patchEmbedding(t, {
        name: `${prefix}patch_embedding.linear`,
        hidden: sizes.hidden,
        images,
        patches,
        patchSize: sizes.patchSize,
        channels: sizes.channels,
        positions: `${prefix}positional_embedding_vlm`,
        classToken: `${prefix}class_embedding`,
      });
      return layerNormed(`${prefix}layernorm_pre`)(t, x);
    },
    layers: repeat(encoderLayer({ prefix, ...sizes, names, rotary: 1 }), sizes.layers),
    after: layerNormed(`${prefix}layernorm_post`),
    project: (t, x) => {
      const kept = t.slice(x, [x.shape[0] ?? 1, patches, sizes.hidden]);
      const shuffled = t.copy(
        kept,
        [x.shape[0] ?? 1, tokens, sizes.hidden / (ratio * ratio)],
        'pixel_shuffle',
      );
      const up = linear(`${prefix}vision_adapter.mlp.fc1`, input, false)(t, shuffled);
      const adapted = applyActivation(t, up, 'gelu');
      const down = applyActivation(
        t,
        linear(`${prefix}vision_adapter.mlp.fc2`, output, false)(t, adapted),
        'gelu',
      );
      return linear('multi_modal_projector.linear_1', width, false)(t, down);
    },
    tokens,
    note: {
      text: say('an image takes {0} tokens per tile; one tile is assumed', String(tokens)),
      unless: ['batch.imageTiles'],
    },
  };
}

/**
 * Side of the square that stands for an image where the processor keeps its own size: an assumption of Oomlint, which runs report and
 * `batch.imagePixels` replaces. Two of the 336 pixels that towers see which scale every image.
 */
export const ASSUMED_SIDE = 672;

/** Queries, keys and values: of one linear layer, or of three in Qwen2.5-Omni. */
const projectionsOf = (type: string) =>
  type.startsWith('qwen2_5_omni') ? { q: 'q', k: 'k', v: 'v' } : 'qkv';

/** Sizes of a layer of Qwen's towers: features, heads, patches of a window where it has one. */
interface QwenLayerSizes {
  readonly hidden: number;
  readonly heads: number;
  readonly window?: number | undefined;
}

/** Qwen2-VL, and ERNIE 4.5 VL: layer norms around attention and two linear layers of `inner` features. */
export function plainQwenLayer(
  config: ConfigReader,
  prefix: string,
  { hidden, heads, inner }: QwenLayerSizes & { readonly inner: number },
): Block {
  return encoderLayer({
    prefix,
    hidden,
    heads,
    inner,
    activation: config.text('quick_gelu', 'hidden_act'),
    rotary: 1,
    names: {
      attention: 'attn',
      projections: 'qkv',
      output: 'proj',
      norms: ['norm1', 'norm2'],
      mlp: 'mlp',
      up: 'fc1',
      down: 'fc2',
    },
  });
}

/** Qwen2.5-VL: RMS norms, a gated MLP. */
function gatedQwenLayer(
  config: ConfigReader,
  prefix: string,
  { hidden, heads, window }: QwenLayerSizes,
): Block {
  const mixer = selfAttention({
    module: `${prefix}attn`,
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    projections: projectionsOf(config.modelType),
    output: 'proj',
    bias: { qkv: true, output: true },
    causal: false,
    window,
  });
  return (t, x) =>
    residualLayer(t, x, {
      beforeMixer: rms(`${prefix}norm1`),
      mixer,
      beforeFeedForward: rms(`${prefix}norm2`),
      feedForward: (tracer, y) =>
        gatedMlp(tracer, y, {
          name: `${prefix}mlp`,
          inner: config.size('intermediate_size'),
          activation: config.text('silu', 'hidden_act'),
          bias: true,
        }),
    });
}

/** Qwen2-VL and Qwen2.5-VL: patches of two frames, rotary positions, four patches merged into a token. */
export function qwenTower(config: ConfigReader, width: number): VisionTower {
  const newer = config.modelType.startsWith('qwen2_5_');
  const hidden = newer ? config.size('hidden_size') : config.size('embed_dim');
  const heads = config.size('num_heads');
  const depth = config.size('depth');
  const patchSize = config.size('patch_size');
  const merge = config.size('spatial_merge_size');
  mustFit(config, newer ? 'out_hidden_size' : 'hidden_size', width);
  const { tokens } = mergedPatches(patchSize, merge);
  const prefix = 'visual.';
  const full = new Set((newer && config.list('fullatt_block_indexes')) || []);
  // `Qwen2_5_VLVisionConfig`, `window_size`.
  const windowPatches = newer ? (config.count(112, 'window_size') / patchSize) ** 2 : 0;
  const layer = (window: number | undefined) =>
    newer
      ? gatedQwenLayer(config, prefix, { hidden, heads, window })
      : plainQwenLayer(config, prefix, { hidden, heads, inner: hidden * config.number(4, 'mlp_ratio') });
  const windowed = layer(windowPatches);
  const global = layer(undefined);
  const normed = newer ? rms(`${prefix}merger.ln_q`) : layerNormed(`${prefix}merger.ln_q`);
  return {
    name: 'visual.blocks',
    embed: (t, images) =>
      mergedPatchEmbedding(t, {
        name: `${prefix}patch_embed.proj`,
        hidden,
        images,
        merge,
        patchSize,
        channels: config.sizeOr(3, 'in_channels', 'in_chans'),
        frames: config.size('temporal_patch_size'),
      }),
    layers: Array.from({ length: depth }, (_, i) => (full.has(i) ? global : windowed)),
    project: (t, x) => {
      const joined = t.view(normed(t, x), mergedRows(x, merge));
      const up = linear(`${prefix}merger.mlp.0`, hidden * merge * merge, true)(t, joined);
      return linear(`${prefix}merger.mlp.2`, width, true)(t, applyActivation(t, up, 'gelu'));
    },
    tokens,
    note: freeSize(tokens),
  };
}

/** Patches (tokens) of a square image, whole in squares that are merged: as large as the run states, or of the assumed side. */
export function mergedPatches(patchSize: number, merge: number, pixels = ASSUMED_SIDE ** 2) {
  const tokens = Math.max(1, Math.floor(Math.sqrt(pixels) / patchSize / merge) ** 2);
  return { patches: tokens * merge * merge, tokens };
}

/** Pixels of images of the run's size to `[images, patches, hidden]`, patches whole in squares of `merge`. */
export function mergedPatchEmbedding(
  t: Tracer,
  { merge, ...spec }: Omit<PatchEmbeddingSpec, 'patches'> & { readonly merge: number },
): Tensor {
  const { patches } = mergedPatches(spec.patchSize, merge, t.settings.imagePixels);
  return patchEmbedding(t, { ...spec, patches });
}

/** `[images, patches, hidden]` with each square of patches as one row, for the merger. */
export function mergedRows(x: Tensor, merge: number): number[] {
  const [images = 1, patches = 1, hidden = 1] = x.shape;
  return [images, patches / (merge * merge), hidden * merge * merge];
}

export const freeSize = (tokens: number): ImageNote => ({
  text: say(
    'images are taken to be {0} × {0} pixels, {1} tokens each, where nothing that is read limits them',
    String(ASSUMED_SIDE),
    String(tokens),
  ),
  unless: ['batch.imagePixels'],
});

/** Towers whose layers are tapped: those of Qwen 3.5 name none. */
const DEEP: ReadonlySet<string> = new Set(['qwen3_vl_vision', 'qwen3_omni_moe_vision_encoder']);

/**
 * Qwen3-VL and Qwen3.5: patches of two frames and a table of positions that is stretched over the image, rotary positions,
 * four patches merged into a token; Qwen3-VL also merges what three of its layers give.
 */
export function qwen3Tower(config: ConfigReader, width: number): VisionTower {
  const hidden = config.size('hidden_size');
  const patchSize = config.size('patch_size');
  const merge = config.size('spatial_merge_size');
  const { tokens } = mergedPatches(patchSize, merge);
  const joined = hidden * merge * merge;
  const prefix = 'visual.';
  mustFit(config, 'out_hidden_size', width);
  const layer = encoderLayer({
    prefix,
    hidden,
    heads: config.size('num_heads'),
    inner: config.size('intermediate_size'),
    activation: config.text('gelu_pytorch_tanh', 'hidden_act'),
    rotary: 1,
    names: {
      attention: 'attn',
      projections: 'qkv',
      output: 'proj',
      norms: ['norm1', 'norm2'],
      mlp: 'mlp',
      up: 'linear_fc1',
      down: 'linear_fc2',
    },
  });
  // `Qwen3VLVisionPatchMerger`: the norm stands before the patches are joined, or behind.
  const merger = (name: string, normsJoined: boolean): Block => {
    const norm = layerNormed(`${prefix}${name}.norm`);
    return (t, x) => {
      const shape = mergedRows(x, merge);
      const ready = normsJoined ? norm(t, t.view(x, shape)) : t.view(norm(t, x), shape);
      const up = linear(`${prefix}${name}.linear_fc1`, joined, true)(t, ready);
      return linear(`${prefix}${name}.linear_fc2`, width, true)(t, applyActivation(t, up, 'gelu'));
    };
  };
  const taps = DEEP.has(config.modelType) ? (config.list('deepstack_visual_indexes') ?? []) : [];
  const depth = config.size('depth');
  for (const index of taps) {
    if (typeof index === 'number' && index < depth) continue;
    throw new ConfigError(
      say('"{0}" names a layer that "{1}" does not have', 'deepstack_visual_indexes', 'depth'),
    );
  }
  const rows = config.size('num_position_embeddings');
  return {
    name: 'visual.blocks',
    embed: (t, images) => {
      const x = mergedPatchEmbedding(t, {
        name: `${prefix}patch_embed.proj`,
        hidden,
        images,
        merge,
        patchSize,
        channels: config.sizeOr(3, 'in_channels', 'in_chans'),
        frames: config.size('temporal_patch_size'),
        bias: true,
      });
      // Four rows of the table for each patch, weighted and summed.
      const index = t.input([images, x.shape[1] ?? 0, 4], 'int64', false, 'interpolation');
      const corners = t.embedding(index, { name: `${prefix}pos_embed`, rows, columns: hidden });
      const weighted = t.keepInput(corners, 'pos_embed.weighted');
      return t.add(x, t.reduce(weighted, x.shape, 'pos_embed.sum'), 'positions');
    },
    layers: repeat(layer, depth),
    taps: taps
      .filter((index): index is number => typeof index === 'number')
      .map((index, i) => ({ layer: index, project: merger(`deepstack_merger_list.${i}`, true) })),
    project: merger('merger', false),
    tokens,
    note: freeSize(tokens),
  };
}
