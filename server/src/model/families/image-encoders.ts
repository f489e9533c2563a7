import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { attend } from '../layers/attention';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead } from '../layers/classification';
import { CLIP_NAMES, encoderLayer, VIT_NAMES } from '../layers/encoder-layer';
import { plainMlp } from '../layers/mlp';
import { patchEmbedding } from '../layers/patch-embedding';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { firstToken } from './bert';
import { embed, hiddenStage, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { patchesOf, readTower } from './vision-tower';

function repeat(layer: Block, count: number): Block[] {
  return new Array<Block>(count).fill(layer);
}

/** Images per micro step, one number: a model of images sees at least one per sample. */
export function imagesOf(t: Tracer): number {
  return t.settings.batch * Math.max(1, t.settings.images);
}

/** ViT, in the names that it had until transformers 5 (`attention.attention.query`), which PEFT configs use. */
function vit(config: ConfigReader): Architecture {
  const sizes = readTower(config);
  const patches = patchesOf(sizes);
  const dropout = config.dropout('hidden_dropout_prob');
  const labels = config.labels(2);
  const embedding: Stage = {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const x = patchEmbedding(t, {
        name: 'embeddings.patch_embeddings.projection',
        hidden: sizes.hidden,
        images: imagesOf(t),
        patches,
        patchSize: sizes.patchSize,
        channels: sizes.channels,
        bias: true,
        positions: 'embeddings.position_embeddings',
        classToken: 'embeddings.cls_token',
      });
      flow.set('hidden', t.dropout(x, dropout, 'embedding_dropout'));
    },
  };
  const mixer = encoderLayer({
    ...sizes,
    dropout,
    attentionDropout: config.dropout('attention_probs_dropout_prob'),
    bias: config.flag(true, 'qkv_bias'),
    names: VIT_NAMES,
  });
  const body = [
    embedding,
    ...layerStages('encoder.layer', repeat(mixer, sizes.layers)),
    hiddenStage('layernorm', 'norm', 1, layerNormed('layernorm')),
  ];
  const head: Stage = {
    name: 'classifier',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const pooled = firstToken(t, t.enter(take(flow, 'hidden'), 'hidden'));
      flow.set('loss', classificationHead(t, pooled, { name: 'classifier', labels, bias: true }));
    },
  };
  return {
    figures: {
      hiddenSize: sizes.hidden,
      layers: sizes.layers,
      attentionHeads: sizes.heads,
      keyValueHeads: sizes.heads,
      vocabulary: labels,
      maxPositions: patches + 1,
      sampleLength: {
        tokens: patches + 1,
        note: () => say('the patches of an image and the class token: the model fixes them'),
      },
    },
    stages: [...body, head],
    counted: body,
    notes: [say('a sample is an image of {0} patches, whatever the sequence length', String(patches))],
  };
}

/** Similarities of all texts and images of the micro batch, both ways (CLIP) or as a sigmoid (SigLIP). */
function contrastiveLoss(t: Tracer, text: Tensor, image: Tensor, bias: boolean): Tensor {
  t.weight({ name: 'logit_scale', shape: [1] });
  if (bias) t.weight({ name: 'logit_bias', shape: [1] });
  const norm = (x: Tensor, name: string) => t.mul(x, t.reduce(x, [x.shape[0] ?? 1, 1], `${name}.norm`), name);
  const texts = norm(text, 'text_embeds');
  const images = norm(image, 'image_embeds');
  const width = texts.shape.at(-1) ?? 1;
  const shape = [texts.shape[0] ?? 1, images.shape[0] ?? 1];
  const logits = t.scale(t.matmul(texts, images, shape, width, 'logits'), 'logit_scale');
  const probabilities = t.softmax(logits, 'loss.log_softmax');
  return t.fused({ name: 'loss', inputs: [probabilities], outputs: [{ shape: [1], dtype: logits.dtype }] });
}

/** Text tower stages: token and position tables, layers. `texts` is what the tower leaves. */
function textTower(config: ConfigReader, causal: boolean, finish: (t: Tracer, x: Tensor) => Tensor): Stage[] {
  const hidden = config.size('hidden_size');
  const positions = config.size('max_position_embeddings');
  const layer = encoderLayer({
    prefix: 'text_model.',
    hidden,
    heads: config.size('num_attention_heads'),
    inner: config.size('intermediate_size'),
    activation: config.text('quick_gelu', 'hidden_act'),
    attentionDropout: config.dropout('attention_dropout'),
    causal,
    names: CLIP_NAMES,
  });
  return [
    {
      name: 'text_model.embeddings',
      role: 'embedding',
      count: 1,
      trace: (t, flow) => {
        const length = Math.min(t.settings.sequence, positions);
        const ids = t.input([t.settings.batch, length], 'int64', false, 'input_ids');
        const x = embed(t, ids, {
          name: 'text_model.embeddings.token_embedding',
          rows: config.size('vocab_size'),
          columns: hidden,
          positions: { name: 'text_model.embeddings.position_embedding', rows: positions },
        });
        flow.set('hidden', x);
      },
    },
    ...layerStages('text_model.encoder.layers', repeat(layer, config.size('num_hidden_layers'))),
    {
      name: 'text_model.final_layer_norm',
      role: 'norm',
      count: 1,
      trace: (t, flow) => {
        const normed = layerNormed('text_model.final_layer_norm')(t, t.enter(take(flow, 'hidden'), 'hidden'));
        flow.set('texts', finish(t, firstToken(t, normed)));
        flow.delete('hidden');
      },
    },
  ];
}

/** Image tower stages, with what takes one vector of each image. `images` is what the tower leaves. */
function imageTower(sizes: ReturnType<typeof readTower>, siglip: boolean, width: number): Stage[] {
  const patches = patchesOf(sizes);
  const prefix = 'vision_model.';
  return [
    {
      name: 'vision_model.embeddings',
      role: 'embedding',
      count: 1,
      trace: (t, flow) => {
        const x = patchEmbedding(t, {
          name: `${prefix}embeddings.patch_embedding`,
          hidden: sizes.hidden,
          images: imagesOf(t),
          patches,
          patchSize: sizes.patchSize,
          channels: sizes.channels,
          bias: siglip,
          positions: `${prefix}embeddings.position_embedding.weight`,
          classToken: siglip ? undefined : `${prefix}embeddings.class_embedding`,
        });
        flow.set('hidden', siglip ? x : layerNormed(`${prefix}pre_layrnorm`)(t, x));
      },
    },
    ...layerStages(
      'vision_model.encoder.layers',
      repeat(encoderLayer({ prefix, ...sizes, names: CLIP_NAMES }), sizes.layers),
    ),
    {
      name: 'vision_model.post_layernorm',
      role: 'norm',
      count: 1,
      trace: (t, flow) => {
        const hidden = t.enter(take(flow, 'hidden'), 'hidden');
        const norm = layerNormed(`${prefix}post_layernorm`);
        const pooled = siglip
          ? poolingHead(t, norm(t, hidden), sizes)
          : t.linear(norm(t, firstToken(t, hidden)), { name: 'visual_projection', out: width });
        flow.set('images', pooled);
        flow.delete('hidden');
      },
    },
  ];
}

/** CLIP and SigLIP: an image tower, a text tower, and a loss over their similarities. */
function dualEncoder(config: ConfigReader): Architecture {
  const siglip = config.modelType === 'siglip';
  const kind = siglip ? 'siglip' : 'clip';
  const text = config.nested(`${kind}_text_model`, 'text_config').as(`${kind}_text_model`);
  const vision = config.nested(`${kind}_vision_model`, 'vision_config').as(`${kind}_vision_model`);
  const sizes = readTower(vision);
  const patches = patchesOf(sizes);
  const width = siglip
    ? text.sizeOr(text.size('hidden_size'), 'projection_size')
    : config.size('projection_dim');
  if (siglip && !vision.flag(true, 'vision_use_head')) {
    throw new ConfigError(say('"{0}": false is not supported', 'vision_use_head'));
  }
  const images = imageTower(sizes, siglip, width);
  const head: Stage = {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const images = t.enter(take(flow, 'images'), 'images');
      const texts = t.enter(take(flow, 'texts'), 'texts');
      flow.set('loss', contrastiveLoss(t, texts, images, siglip));
    },
  };
  const finish = (t: Tracer, x: Tensor) =>
    siglip
      ? t.linear(x, { name: 'text_model.head', out: width, bias: true })
      : t.linear(x, { name: 'text_projection', out: width });
  return {
    figures: {
      hiddenSize: text.size('hidden_size'),
      layers: text.size('num_hidden_layers') + sizes.layers,
      attentionHeads: text.size('num_attention_heads'),
      keyValueHeads: text.size('num_attention_heads'),
      vocabulary: text.size('vocab_size'),
      maxPositions: text.size('max_position_embeddings'),
      sampleLength: {
        tokens: text.size('max_position_embeddings'),
        note: () => say('the longest text that the model takes'),
      },
    },
    // Images first, in all releases (`CLIPModel.forward`): backward ends with their tower, when the gradients of the texts' are there.
    stages: [...images, ...textTower(text, !siglip, finish), head],
    notes: [say('a sample is a text and an image of {0} patches', String(patches))],
  };
}

/** SigLIP's attention pooling: one learned query over all patches, then an MLP. */
function poolingHead(t: Tracer, x: Tensor, sizes: ReturnType<typeof readTower>): Tensor {
  const { hidden, heads } = sizes;
  const [images = 1, patches = 1] = x.shape;
  const path = 'vision_model.head';
  const probe = t.weight({ name: `${path}.probe`, shape: [hidden] });
  const weight = t.weight({ name: `${path}.attention.in_proj_weight`, shape: [3 * hidden, hidden] });
  const bias = t.weight({ name: `${path}.attention.in_proj_bias`, shape: [3 * hidden] });
  const query = t.expand(t.parameter(probe), [images, 1, hidden]);
  const third = (from: Tensor, part: string, rows: number) => {
    const flops = 2 * images * rows * hidden * hidden;
    return t.fused({
      name: `${path}.${part}`,
      inputs: [from],
      outputs: [{ shape: [images, rows, hidden], dtype: x.dtype }],
      savesInputs: [from],
      weights: part === 'k' ? [weight, bias] : [],
      flops,
      backwardFlops: (from.requiresGrad ? flops : 0) + (weight.trainable ? flops : 0),
    });
  };
  const context = attend(t, {
    name: `${path}.attention`,
    batch: images,
    q: third(query, 'q', 1),
    k: third(x, 'k', patches),
    v: third(x, 'v', patches),
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    causal: false,
  });
  const pooled = t.linear(context, { name: `${path}.attention.out_proj`, out: hidden, bias: true });
  const normed = layerNormed(`${path}.layernorm`)(t, pooled);
  const fed = plainMlp(t, normed, {
    name: `${path}.mlp`,
    inner: sizes.inner,
    activation: sizes.activation,
    bias: true,
    projections: { up: 'fc1', down: 'fc2' },
  });
  return t.view(t.add(pooled, fed, 'residual'), [images, hidden]);
}

export const imageEncoders: ModelFamily = {
  modelTypes: ['vit', 'clip', 'siglip'],
  build: (config) => (config.modelType === 'vit' ? vit(config) : dualEncoder(config)),
};
