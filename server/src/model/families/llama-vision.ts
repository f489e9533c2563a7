import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, layerNormed, rms } from '../layers/block';
import { gatedMlp, plainMlp } from '../layers/mlp';
import { patchEmbedding } from '../layers/patch-embedding';
import { residualLayer } from '../layers/residual';
import { attentionOver, selfAttention } from '../layers/self-attention';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { headStage, take, tokenEmbeddingStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { attentionSizes, LLAMA_ATTENTION, llamaAttention, llamaMlp } from './llama-parts';
import { figuresOf, readSizes, type Sizes } from './sizes';
import { patchesOf, towerStages, type VisionTower } from './vision-tower';

/** Rows of the token table beyond the vocabulary (`MllamaTextModel`). */
const SPECIAL_ROWS = 8;

/** Where the config names no layers that look at images (`MllamaTextConfig`). */
const CROSS_LAYERS: readonly number[] = [3, 8, 13, 18, 23, 28, 33, 38];

/** Names of what looks at images begin with it. */
const PREFIX = 'vision_model.';

/** Branches times the hyperbolic tangent of a learned number. */
function gated(name: string): Block {
  return (t, x) => t.mulWeight(x, t.weight({ name, shape: [1] }), name);
}

/** Patches of a tile and its class token, and as many as make a multiple of eight. */
function padded(tokens: number): number {
  return Math.ceil(tokens / 8) * 8;
}

/** A layer of one of its two encoders: the second has gates. */
function towerLayer(config: ConfigReader, isGated: boolean): Block {
  const hidden = config.size('hidden_size');
  const heads = config.size('attention_heads', 'num_attention_heads');
  const inner = config.size('intermediate_size');
  const activation = config.text('gelu', 'hidden_act');
  const at = `${PREFIX}${isGated ? 'global_transformer' : 'transformer'}.`;
  const mixer = selfAttention({
    ...LLAMA_ATTENTION,
    module: `${at}self_attn`,
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    rotary: 0,
    causal: false,
  });
  const projections = { up: 'fc1', down: 'fc2' };
  return (t, x) =>
    residualLayer(t, x, {
      beforeMixer: layerNormed(`${at}input_layernorm`),
      mixer,
      afterMixer: isGated ? gated(`${at}gate_attn`) : undefined,
      beforeFeedForward: layerNormed(`${at}post_attention_layernorm`),
      feedForward: (tracer, y) =>
        plainMlp(tracer, y, { name: `${at}mlp`, inner, activation, bias: true, projections }),
      afterFeedForward: isGated ? gated(`${at}gate_ffn`) : undefined,
    });
}

/** Llama 3.2's ViT: every tile of an image at once, a second encoder with gates, and layers of the first beside its result. */
function visionTower(config: ConfigReader, width: number): VisionTower {
  const hidden = config.size('hidden_size');
  const plain = towerLayer(config, false);
  const global = towerLayer(config, true);
  const patchSize = config.size('patch_size');
  const tiles = config.size('max_num_tiles');
  const patches = patchesOf({ imageSize: config.size('image_size'), patchSize });
  // `MllamaVisionConfig`: eight ratios, and the five layers below whose features are joined.
  const ratios = (config.list('supported_aspect_ratios')?.length ?? 8) + 1;
  const own = patches + 1;
  const output = config.size('vision_output_dim');
  const seen = config.list('intermediate_layers_indices')?.length ?? 5;
  if (output !== hidden * (seen + 1)) {
    throw new ConfigError(
      say(
        '"{0}" is {1}, where the model needs {2}',
        config.pathOf('vision_output_dim'),
        String(output),
        String(hidden * (seen + 1)),
      ),
    );
  }
  const embeddings = (t: Tracer, name: string, count: number) => {
    t.weight({ name: `${PREFIX}${name}.gate`, shape: [1] });
    t.weight({ name: `${PREFIX}${name}.weight`, shape: [ratios, tiles * count * hidden], role: 'embedding' });
  };
  const depth = config.size('num_hidden_layers');
  return {
    name: 'vision_model',
    embed: (t, images) => {
      const x = patchEmbedding(t, {
        name: `${PREFIX}patch_embedding`,
        hidden,
        images: images * tiles,
        patches,
        patchSize,
        channels: config.sizeOr(3, 'num_channels'),
        classToken: `${PREFIX}class_embedding`,
        positions: `${PREFIX}gated_positional_embedding.embedding`,
      });
      embeddings(t, 'gated_positional_embedding.tile_embedding', own);
      embeddings(t, 'pre_tile_positional_embedding.embedding', 1);
      embeddings(t, 'post_tile_positional_embedding.embedding', 1);
      const normed = layerNormed(`${PREFIX}layernorm_pre`)(t, x);
      layerNormed(`${PREFIX}layernorm_post`)(t, normed);
      return t.copy(normed, [images, tiles * padded(own), hidden], 'pad');
    },
    layers: [
      ...new Array<Block>(depth).fill(plain),
      ...new Array<Block>(config.size('num_global_layers')).fill(global),
    ],
    project: (t, x) => {
      const beside = t.copy(x, [x.shape[0] ?? 1, tiles * own, output], 'intermediate_layers');
      return t.linear(beside, { name: 'multi_modal_projector', out: width, bias: true });
    },
    tokens: 0,
    note: {
      text: say(
        'an image is {0} tiles of {1} patches, which {2} look at beside the text',
        String(tiles),
        String(own),
        'cross_attention_layers',
      ),
    },
  };
}

/** A layer whose keys and values are the images' (`MllamaCrossAttentionDecoderLayer`). */
function crossLayer(sizes: Sizes): (t: Tracer, x: Tensor, images: Tensor) => Tensor {
  const spec = {
    ...LLAMA_ATTENTION,
    ...attentionSizes(sizes),
    module: 'cross_attn',
    norm: { kind: 'head' as const },
    rotary: 0,
    causal: false,
  };
  const { inner, activation } = sizes;
  return (t, x, images) =>
    residualLayer(t, x, {
      beforeMixer: rms('input_layernorm'),
      mixer: (tracer, y) => attentionOver(tracer, y, spec, { source: images }),
      afterMixer: gated('cross_attn_attn_gate'),
      beforeFeedForward: rms('post_attention_layernorm'),
      // Rows that look at no image are masked, which keeps the mask alone.
      feedForward: (tracer, y) =>
        tracer.scale(
          gatedMlp(tracer, y, { name: 'mlp', inner, activation }),
          'full_text_row_masked_out_mask',
        ),
      afterFeedForward: gated('cross_attn_mlp_gate'),
    });
}

function crossStage(sizes: Sizes): Stage {
  const layer = crossLayer(sizes);
  return {
    name: 'layers',
    role: 'layer',
    count: 1,
    trace: (t, flow) => {
      const { batch, images } = t.settings;
      const outer = flow.get('images');
      if (images > 0 && outer) {
        const entered = t.enter(outer, 'images');
        const seen = t.view(entered, [batch, (entered.shape[1] ?? 1) * images, sizes.hidden]);
        flow.set('hidden', layer(t, t.enter(take(flow, 'hidden'), 'hidden'), seen));
        return;
      }
      // Without an image the layer is skipped; its weights are there.
      t.registerWeightsOf((probe) => {
        const one = (name: string) => probe.input([1, 1, sizes.hidden], t.settings.weightDtype, false, name);
        layer(probe, one('hidden'), one('images'));
      });
    },
  };
}

/** Llama 3.2 Vision: Llama 3.1 with layers between its own that look at the image. */
function build(config: ConfigReader): Architecture {
  const text = config.textModel('mllama_text_model').as('mllama_text_model');
  const sizes = readSizes(text);
  const named = text.list('cross_attention_layers') ?? CROSS_LAYERS;
  const vision = config.nested('mllama_vision_model', 'vision_config').as('mllama_vision_model');
  const tower = visionTower(vision, sizes.hidden);
  const attention = llamaAttention(sizes);
  const mlp = llamaMlp(sizes);
  const own: Stage = {
    name: 'layers',
    role: 'layer',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      const out = residualLayer(t, hidden, {
        beforeMixer: rms('input_layernorm'),
        mixer: attention,
        beforeFeedForward: rms('post_attention_layernorm'),
        feedForward: mlp,
      });
      flow.set('hidden', out);
    },
  };
  const cross = crossStage(sizes);
  const stages: Stage[] = [];
  for (let i = 0; i < sizes.layers; i++) {
    const next = named.includes(i) ? cross : own;
    const last = stages.at(-1);
    if (last?.trace === next.trace) stages[stages.length - 1] = { ...last, count: last.count + 1 };
    else stages.push(next);
  }
  const head = headStage({
    finalNorm: rms('norm'),
    head: { name: 'lm_head', vocabulary: sizes.vocabulary, tiedTo: undefined },
  });
  return {
    figures: figuresOf(sizes),
    stages: [
      ...towerStages(tower),
      tokenEmbeddingStage({
        name: 'embed_tokens',
        rows: sizes.vocabulary + SPECIAL_ROWS,
        columns: sizes.hidden,
      }),
      ...stages,
      head,
    ],
    imageNotes: [tower.note],
  };
}

export const llamaVision: ModelFamily = { modelTypes: ['mllama'], build };
