import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { activate } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import { gatedMlp } from '../layers/mlp';
import { patchEmbedding } from '../layers/patch-embedding';
import { residualLayer } from '../layers/residual';
import { LLAMA_PROJECTIONS, selfAttention } from '../layers/self-attention';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import { Tracer } from '../tracer';
import { take } from './decoder-model';

/** A vision encoder in front of a language model, in the names of its reference code. */
export interface VisionTower {
  readonly name: string;
  /** Pixels of `images` images to `[images, tokens, hidden]`. */
  readonly embed: (t: Tracer, images: number) => Tensor;
  readonly layers: readonly Block[];
  readonly after?: Block;
  /** Tower output to what the language model reads, `[images, tokens, width]`. */
  readonly project: Block;
  /** Tokens that one image takes in the text. */
  readonly tokens: number;
  readonly note: string;
}

/**
 * Plays a part of the tower on this GPU's images. A batch without images runs nothing of it, but its weights are there:
 * they are registered from a trace of one image.
 */
function onImages(t: Tracer, body: (tracer: Tracer, images: number) => void): void {
  const images = t.settings.batch * t.settings.images;
  if (images > 0) {
    body(t, images);
    return;
  }
  const probe = new Tracer(t.settings);
  body(probe, 1);
  for (const w of probe.finish().weights) {
    t.weight({ ...w, local: [w.localElements], quantizable: w.quantization !== 'none' });
  }
}

/** Stages of the tower; they leave `images` for the embedding stage of the language model. */
export function towerStages(tower: VisionTower): Stage[] {
  const traces = new Map<Block, Stage['trace']>();
  const stages: Stage[] = [
    {
      name: `${tower.name}.embeddings`,
      role: 'embedding',
      count: 1,
      trace: (t, flow) => onImages(t, (tracer, images) => keep(t, tracer, flow, tower.embed(tracer, images))),
    },
  ];
  const throughTower =
    (body: Block): Stage['trace'] =>
    (t, flow) =>
      onImages(t, (tracer, images) =>
        keep(t, tracer, flow, body(tracer, enterImages(t, tracer, flow, tower, images))),
      );
  for (const body of tower.layers) {
    const trace = traces.get(body) ?? throughTower(body);
    traces.set(body, trace);
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

function keep(t: Tracer, tracer: Tracer, flow: Flow, x: Tensor): void {
  if (t === tracer) flow.set('images', x);
}

/** The tower's state; for a probe without images, a stand-in of its shape. */
function enterImages(t: Tracer, tracer: Tracer, flow: Flow, tower: VisionTower, images: number): Tensor {
  if (t === tracer) return t.enter(take(flow, 'images'), 'images');
  const probe = new Tracer(t.settings);
  return tracer.enter(tower.embed(probe, images), 'images');
}

interface TowerSizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly inner: number;
  readonly activation: string;
  readonly imageSize: number;
  readonly patchSize: number;
}

export function readTower(config: ConfigReader): TowerSizes {
  return {
    hidden: config.size('hidden_size'),
    layers: config.size('num_hidden_layers'),
    heads: config.size('num_attention_heads'),
    inner: config.size('intermediate_size'),
    activation: config.text('gelu', 'hidden_act'),
    imageSize: config.size('image_size'),
    patchSize: config.size('patch_size'),
  };
}

export function patchesOf(sizes: Pick<TowerSizes, 'imageSize' | 'patchSize'>): number {
  return Math.floor(sizes.imageSize / sizes.patchSize) ** 2;
}

function repeat(layer: Block, count: number): Block[] {
  return new Array<Block>(count).fill(layer);
}

function linear(name: string, out: number, bias: boolean): Block {
  return (t, x) => t.linear(x, { name, out, bias });
}

/** LLaVA 1.5: CLIP, its class token dropped, and a projector of two linears. */
export function clipTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
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
      const activated = activate(t, up, activation);
      return linear('multi_modal_projector.linear_2', width, bias)(t, activated);
    },
    tokens: patches,
    note: say('an image takes {0} tokens', String(patches)),
  };
}

/** Gemma 3: SigLIP at 896 pixels, pooled to 256 tokens. */
export function siglipTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const patches = patchesOf(sizes);
  const tokens = outer.sizeOr(256, 'mm_tokens_per_image');
  const prefix = 'vision_tower.';
  return {
    name: 'vision_tower',
    embed: (t, images) =>
      patchEmbedding(t, {
        name: `${prefix}embeddings.patch_embedding`,
        hidden: sizes.hidden,
        images,
        patches,
        patchSize: sizes.patchSize,
        bias: true,
        positions: `${prefix}embeddings.position_embedding.weight`,
      }),
    layers: repeat(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES }), sizes.layers),
    after: layerNormed(`${prefix}post_layernorm`),
    project: (t, x) => {
      const pooled = t.reduce(x, [x.shape[0] ?? 1, tokens, sizes.hidden], 'avg_pool');
      const normed = rms('multi_modal_projector.mm_soft_emb_norm', 'gemma')(t, pooled);
      const weight = t.weight({
        name: 'multi_modal_projector.mm_input_projection_weight',
        shape: [sizes.hidden, width],
      });
      return t.linearWith(normed, weight, { name: 'multi_modal_projector', out: width });
    },
    tokens,
    note: say('an image takes {0} tokens', String(tokens)),
  };
}

/** Mistral 3: Pixtral, patches merged two by two. The size of the image is free; its largest is assumed. */
export function pixtralTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const sizes = readTower(config);
  const merge = outer.sizeOr(2, 'spatial_merge_size');
  const side = Math.floor(sizes.imageSize / sizes.patchSize / merge) * merge;
  const patches = side * side;
  const tokens = patches / (merge * merge);
  const bias = outer.flag(false, 'multimodal_projector_bias');
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
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const x = patchEmbedding(t, {
        name: `${prefix}patch_conv`,
        hidden: sizes.hidden,
        images,
        patches,
        patchSize: sizes.patchSize,
      });
      return rms(`${prefix}ln_pre`)(t, x);
    },
    layers: repeat(layer, sizes.layers),
    project: (t, x) => {
      const normed = rms('multi_modal_projector.norm')(t, x);
      const joined = t.copy(normed, [x.shape[0] ?? 1, tokens, sizes.hidden * merge * merge], 'unfold');
      const merging = linear('multi_modal_projector.patch_merger.merging_layer', sizes.hidden, false);
      const up = linear('multi_modal_projector.linear_1', width, bias)(t, merging(t, joined));
      const activated = activate(t, up, outer.text('gelu', 'projector_hidden_act'));
      return linear('multi_modal_projector.linear_2', width, bias)(t, activated);
    },
    tokens,
    note: say(
      'images are taken to be {0} x {0} pixels, {1} tokens each',
      String(sizes.imageSize),
      String(tokens),
    ),
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
      const adapted = activate(t, up, 'gelu');
      const down = activate(t, linear(`${prefix}vision_adapter.mlp.fc2`, output, false)(t, adapted), 'gelu');
      return linear('multi_modal_projector.linear_1', width, false)(t, down);
    },
    tokens,
    note: say('an image takes {0} tokens per tile; one tile is assumed', String(tokens)),
  };
}

/** Side of the square that stands for an image where the processor keeps its own size. */
const ASSUMED_PIXELS = 672;

/** Qwen2-VL and Qwen2.5-VL: patches of two frames, rotary positions, four patches merged into a token. */
export function qwenTower(config: ConfigReader, width: number): VisionTower {
  const newer = config.modelType.startsWith('qwen2_5_vl');
  const hidden = newer ? config.size('hidden_size') : config.size('embed_dim');
  const heads = config.size('num_heads');
  const depth = config.size('depth');
  const patchSize = config.size('patch_size');
  const merge = config.size('spatial_merge_size');
  const patches = Math.floor(ASSUMED_PIXELS / patchSize / merge) ** 2 * merge * merge;
  const tokens = patches / (merge * merge);
  const prefix = 'visual.';
  const full = new Set(config.list('fullatt_block_indexes') ?? []);
  const windowPatches = newer ? (config.count(112, 'window_size') / patchSize) ** 2 : 0;
  const older = encoderLayer({
    prefix,
    hidden,
    heads,
    inner: hidden * config.number(4, 'mlp_ratio'),
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
  const gated = (window: number | undefined): Block => {
    const mixer = selfAttention({
      module: `${prefix}attn`,
      hidden,
      heads,
      keyValueHeads: heads,
      headDim: hidden / heads,
      projections: 'qkv',
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
  };
  const windowed = gated(windowPatches);
  const global = gated(undefined);
  const normed = newer ? rms(`${prefix}merger.ln_q`) : layerNormed(`${prefix}merger.ln_q`);
  return {
    name: 'visual.blocks',
    embed: (t, images) =>
      patchEmbedding(t, {
        name: `${prefix}patch_embed.proj`,
        hidden,
        images,
        patches,
        patchSize,
        frames: config.size('temporal_patch_size'),
      }),
    layers: Array.from({ length: depth }, (_, i) => (newer ? (full.has(i) ? global : windowed) : older)),
    project: (t, x) => {
      const joined = t.view(normed(t, x), [x.shape[0] ?? 1, tokens, hidden * merge * merge]);
      const up = linear(`${prefix}merger.mlp.0`, hidden * merge * merge, true)(t, joined);
      return linear(`${prefix}merger.mlp.2`, width, true)(t, activate(t, up, 'gelu'));
    },
    tokens,
    note: say(
      'images are taken to be {0} x {0} pixels, {1} tokens each',
      String(ASSUMED_PIXELS),
      String(tokens),
    ),
  };
}
