import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import { patchEmbedding } from '../layers/patch-embedding';
import { postNormLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { hiddenStage, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { imagesOf } from './image-encoders';
import { figuresOf, readSizes, type Sizes } from './sizes';
import { patchesOf, readTower } from './vision-tower';

/** Text of `[b, s]` ids as `[b, s, h]`: two tables, the second added in place, a norm and dropout (`GitEmbeddings`). */
function textStage(config: ConfigReader, sizes: Sizes): Stage {
  const name = 'embeddings.word_embeddings';
  return {
    name,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const { batch, sequence } = t.settings;
      const ids = t.input([batch, sequence], 'int64', false, 'input_ids');
      const columns = sizes.hidden;
      const words = t.embedding(ids, {
        name,
        rows: sizes.vocabulary,
        columns,
        tokens: true,
        headTied: sizes.tied,
      });
      const places = t.embedding(t.input([1, sequence], 'int64', false, 'position_ids'), {
        name: 'embeddings.position_embeddings',
        rows: config.size('max_position_embeddings'),
        columns,
      });
      const normed = layerNormed('embeddings.LayerNorm')(t, t.addInto(words, places, 'positions'));
      flow.set('texts', t.dropout(normed, config.dropout('hidden_dropout_prob'), 'embedding_dropout'));
    },
  };
}

/** CLIP's tower, and what makes text's width of its patches. It leaves `hidden`, `[b, patches + s, h]`. */
function imageStages(vision: ConfigReader, width: number): Stage[] {
  const sizes = readTower(vision);
  const prefix = 'image_encoder.vision_model.';
  const embed: Stage = {
    name: `${prefix}embeddings`,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const x = patchEmbedding(t, {
        name: `${prefix}embeddings.patch_embedding`,
        hidden: sizes.hidden,
        images: imagesOf(t),
        patches: patchesOf(sizes),
        patchSize: sizes.patchSize,
        channels: sizes.channels,
        bias: false,
        positions: `${prefix}embeddings.position_embedding.weight`,
        classToken: `${prefix}embeddings.class_embedding`,
      });
      flow.set('hidden', layerNormed(`${prefix}pre_layrnorm`)(t, x));
    },
  };
  const layer = encoderLayer({
    prefix,
    ...sizes,
    attentionDropout: vision.dropout('attention_dropout'),
    kernels: 'eager',
    names: CLIP_NAMES,
  });
  const join: Stage = {
    name: 'visual_projection',
    role: 'norm',
    count: 1,
    trace: (t, flow) => {
      const [hidden, texts] = ['hidden', 'texts'].map((part) => t.enter(take(flow, part), part));
      if (!hidden || !texts) return;
      const normed = layerNormed(`${prefix}post_layernorm`)(t, hidden);
      const name = 'visual_projection.visual_projection';
      const wide = layerNormed(`${name}.1`)(
        t,
        t.linear(normed, { name: `${name}.0`, out: width, bias: true }),
      );
      const [batch = 1, text = 1] = texts.shape;
      const patches = wide.elements / (batch * width);
      // `repeat` makes a tensor of its own even where there is one image for each text.
      const repeated = t.copy(wide, [batch, patches, width], 'repeat');
      // The text's gradient is a view of the joint one, which stays with it: counted is its part, until the embedding takes it.
      const joined = t.fused({
        name: 'visual_tokens',
        inputs: [repeated, texts],
        outputs: [{ shape: [batch, patches + text, width], dtype: repeated.dtype }],
        gradRules: [repeated, texts].map((x, i) => (!x.requiresGrad ? 'none' : i === 0 ? 'alias' : 'new')),
      });
      flow.set('hidden', joined);
      flow.delete('texts');
    },
  };
  return [embed, ...layerStages(`${prefix}encoder.layers`, new Array<Block>(sizes.layers).fill(layer)), join];
}

/** `GitLayer`: BERT's, with a mask and written-out attention in every release. `[b, patches + s, h]` in and out. */
function textLayer(config: ConfigReader, sizes: Sizes): Block {
  const mixer = selfAttention({
    module: 'attention',
    hidden: sizes.hidden,
    heads: sizes.heads,
    keyValueHeads: sizes.heads,
    headDim: sizes.hidden / sizes.heads,
    projections: { q: 'self.query', k: 'self.key', v: 'self.value' },
    output: 'output.dense',
    bias: { qkv: true, output: true },
    rotary: 0,
    dropout: sizes.attentionDropout,
    fp32Softmax: false,
    kernels: 'eager',
  });
  return (t, x) =>
    postNormLayer(t, x, {
      mixer,
      mixerNorm: layerNormed('attention.output.LayerNorm'),
      feedForward: (tracer, y) => {
        const up = tracer.linear(y, { name: 'intermediate.dense', out: sizes.inner, bias: true });
        const active = applyActivation(tracer, up, sizes.activation);
        return tracer.linear(active, { name: 'output.dense', out: sizes.hidden, bias: true });
      },
      feedForwardNorm: layerNormed('output.LayerNorm'),
      dropout: config.dropout('hidden_dropout_prob'),
    });
}

/**
 * Logits of images and text alike, of which those of the text are copied, shifted, and raised to fp32 (`GitForCausalLM.forward`). The model's result
 * names all logits until the loss is there.
 */
function head(t: Tracer, hidden: Tensor, sizes: Sizes): Tensor {
  return t.scope(() => {
    t.hold(hidden);
    const logits = t.hold(
      t.linear(hidden, {
        name: 'output',
        out: sizes.vocabulary,
        bias: true,
        role: 'head',
        tiedTo: sizes.tied ? 'embeddings.word_embeddings.weight' : undefined,
        kind: 'logits',
      }),
    );
    const [batch = 1, , rows = 1] = logits.shape;
    const shape = [batch, Math.max(1, t.settings.sequence - 1), rows];
    const shifted = t.hold(t.copy(t.slice(logits, shape), shape, 'loss.shift'));
    const wide = t.softmax(t.cast(shifted, 'fp32', 'loss.float'), 'loss.log_softmax');
    return t.fused({
      name: 'loss.nll',
      inputs: [wide],
      outputs: [{ shape: [1], dtype: 'fp32' }],
      kind: 'logits',
    });
  });
}

function git(config: ConfigReader): Architecture {
  const sizes: Sizes = { ...readSizes(config), tied: config.flag(false, 'tie_word_embeddings') };
  if (config.has('num_image_with_embedding'))
    throw new ConfigError(say('"{0}" is not supported', 'num_image_with_embedding'));
  const vision = config.nested('git_vision_model', 'vision_config').as('git_vision_model');
  const patches = patchesOf(readTower(vision));
  return {
    figures: figuresOf(sizes),
    stages: [
      textStage(config, sizes),
      ...imageStages(vision, sizes.hidden),
      ...layerStages('encoder.layer', new Array<Block>(sizes.layers).fill(textLayer(config, sizes))),
      hiddenStage('head', 'head', 1, (t, x) => head(t, x, sizes)),
    ],
    notes: [
      say(
        'a sample is a text and an image, whose {0} patches and class token stand before the text',
        String(patches),
      ),
    ],
  };
}

/** GIT: a text model that reads the patches of an image before the words. */
export const gitFamily: ModelFamily = {
  modelTypes: ['git'],
  build: git,
};
