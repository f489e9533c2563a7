import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classifies } from '../layers/classification';
import { convolution } from '../layers/convolution';
import { encoderLayer, VIT_NAMES } from '../layers/encoder-layer';
import { languageModelHead } from '../layers/loss';
import type { Stage } from '../model';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { encoderEmbedding, firstToken } from './bert';
import { imagesOfSides } from './classified-images';
import { hiddenStage, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { imagesOf } from './image-encoders';
import { figuresOf, readSizes, type Sizes } from './sizes';
import { readTower } from './vision-tower';

/** Sides of an image, in patches. */
interface Grid {
  readonly rows: number;
  readonly columns: number;
}

/**
 * The largest image that the processor makes: its shorter side as the model's, its longer one at most 1333 / 800 of that, both cut down to whole
 * patches (`image_processing_vilt.py`, `MAX_LONGER_EDGE`, `MAX_SHORTER_EDGE`).
 */
function largestGrid({
  imageSize,
  patchSize,
}: {
  readonly imageSize: number;
  readonly patchSize: number;
}): Grid {
  const longer = Math.floor((1333 / 800) * imageSize);
  return { rows: Math.floor(imageSize / patchSize), columns: Math.floor(longer / patchSize) };
}

/** Patches of the images that the run states, or of the largest. */
function patchesSeen(t: Tracer, { rows, columns }: Grid, patchSize: number): number {
  const largest = rows * columns;
  const { imagePixels } = t.settings;
  return imagePixels === undefined
    ? largest
    : Math.max(1, Math.min(largest, Math.ceil(imagePixels / patchSize ** 2)));
}

/** Text as BERT embeds it, and the patches of an image with positions of its own size; types of both are added, and they follow each other (`ViltEmbeddings`). */
function embedding(config: ConfigReader, sizes: Sizes): Stage {
  const tower = readTower(config);
  const grid = largestGrid(tower);
  const { hidden } = sizes;
  const dropout = config.dropout('hidden_dropout_prob');
  const name = 'embeddings.text_embeddings';
  const types = (t: Tracer, x: Tensor) =>
    t.embedding(t.input(x.shape.slice(0, -1), 'int64', false, 'modality_ids'), {
      name: 'embeddings.token_type_embeddings',
      rows: config.size('modality_type_vocab_size'),
      columns: hidden,
    });
  return {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const tables = {
        words: `${name}.word_embeddings`,
        positions: { name: `${name}.position_embeddings`, rows: config.size('max_position_embeddings') },
        types: { name: `${name}.token_type_embeddings`, rows: config.size('type_vocab_size') },
        norm: `${name}.LayerNorm`,
        width: hidden,
      };
      const text = encoderEmbedding(t, tables, sizes, dropout);
      const seen = patches(t, config, sizes, patchesSeen(t, grid, tower.patchSize));
      const image = t.dropout(seen, dropout, 'image_dropout');
      const parts = [
        t.add(text, types(t, text), 'types'),
        t.again(() => t.add(image, types(t, image), 'types')),
      ];
      const [batch = 1, words = 1] = text.shape;
      const length = words + (image.shape[1] ?? 1);
      flow.set('hidden', t.concat(parts, [batch, length, hidden], 'modalities'));
    },
  };
}

/**
 * Patches by a convolution over images that are filled up to one size, those chosen that an image has (two indices for each), their positions from a
 * table that is stretched to the image (`visual_embed`): `[b, patches + 1, h]`.
 */
function patches(t: Tracer, config: ConfigReader, { hidden }: Sizes, count: number): Tensor {
  const { patchSize, channels, imageSize } = readTower(config);
  const images = imagesOf(t);
  const pixels = t.input(
    [images, channels, count * patchSize ** 2],
    inputDtype(t.settings),
    false,
    'pixel_values',
  );
  const grid = convolution(t, pixels, {
    name: 'embeddings.patch_embeddings.projection',
    kernel: [hidden, channels, patchSize, patchSize],
    out: [images, hidden, count],
    bias: true,
  });
  const table = t.weight({
    name: 'embeddings.position_embeddings',
    shape: [Math.floor(imageSize / patchSize) ** 2 + 1, hidden],
    role: 'embedding',
  });
  const token = t.weight({ name: 'embeddings.cls_token', shape: [hidden] });
  // The batch holds its mask, a number of 8 bytes for each pixel, until the step is done.
  const mask = t.input([images, count * patchSize ** 2], 'int64', false, 'pixel_mask');
  const shape = [images, count, hidden];
  const indices = 2 * images * count * ELEMENT_BYTES.int64;
  const chosen = (x: Tensor, of: string) =>
    t.fused({
      name: of,
      inputs: [x, mask],
      outputs: [{ shape, dtype: x.dtype }],
      savesInputs: [mask],
      savesBytes: indices,
    });
  const stretched = t.fused({
    name: 'embeddings.position_embeddings.interpolate',
    inputs: [],
    outputs: [{ shape, dtype: t.settings.weightDtype }],
    weights: [table],
  });
  const own = chosen(grid, 'embeddings.select');
  const places = chosen(stretched, 'embeddings.position_embeddings.select');
  const whole = [images, count + 1, hidden];
  const before = () => t.expand(t.parameter(token), [images, 1, hidden]);
  const x = t.concat([before(), own], whole, 'class_token');
  return t.add(x, t.concat([before(), places], whole, 'class_position'), 'positions');
}

/** A classifier of answers, or the words that are hidden in the text. */
function head(sizes: Sizes, labels: number): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      flow.set('loss', classifies(t) ? answers(t, hidden, sizes, labels) : maskedWords(t, hidden, sizes));
    },
  };
}

/** The first token through a dense layer. From `[b, n, h]` to `[b, h]`. */
function pooler(width: number): Block {
  return (t, x) =>
    t.keepOutput(t.linear(firstToken(t, x), { name: 'pooler.dense', out: width, bias: true }), 'tanh');
}

/** `ViltForQuestionAnswering`: every answer fits or does not, by a sigmoid of its own. From `[b, n, h]` to a loss. */
function answers(t: Tracer, hidden: Tensor, sizes: Sizes, labels: number): Tensor {
  const width = sizes.hidden;
  const wide = t.linear(pooler(width)(t, hidden), {
    name: 'classifier.0',
    out: 2 * width,
    bias: true,
    role: 'head',
  });
  const active = applyActivation(t, layerNormed('classifier.1')(t, wide), 'gelu');
  const scores = t.linear(active, { name: 'classifier.3', out: labels, bias: true, role: 'head' });
  const wideScores = t.settings.autocast ? t.cast(scores, 'fp32', 'loss.float') : scores;
  return t.fused({
    name: 'loss.binary_cross_entropy',
    inputs: [wideScores],
    outputs: [{ shape: [1], dtype: wideScores.dtype }],
    savesInputs: [wideScores],
  });
}

/** `ViltMLMHead` on the tokens of the text. From `[b, n, h]` to a loss. */
function maskedWords(t: Tracer, hidden: Tensor, sizes: Sizes): Tensor {
  const name = 'mlm_score';
  const [batch = 1] = hidden.shape;
  const words = t.slice(hidden, [batch, t.settings.sequence, sizes.hidden]);
  const dense = t.linear(words, { name: `${name}.transform.dense`, out: sizes.hidden, bias: true });
  const active = applyActivation(t, dense, sizes.activation);
  return languageModelHead(t, layerNormed(`${name}.transform.LayerNorm`)(t, active), {
    name: `${name}.decoder`,
    vocabulary: sizes.vocabulary,
    bias: true,
    tiedTo: 'embeddings.text_embeddings.word_embeddings.weight',
    ownType: true,
  });
}

function vilt(config: ConfigReader): Architecture {
  const sizes: Sizes = { ...readSizes(config), tied: true };
  const tower = readTower(config);
  const { rows, columns } = largestGrid(tower);
  const layer = encoderLayer({
    ...tower,
    dropout: config.dropout('hidden_dropout_prob'),
    attentionDropout: config.dropout('attention_probs_dropout_prob'),
    bias: config.flag(true, 'qkv_bias'),
    kernels: 'eager',
    fp32Softmax: false,
    names: VIT_NAMES,
  });
  const body = [
    embedding(config, sizes),
    ...layerStages('encoder.layer', new Array<Block>(sizes.layers).fill(layer)),
    hiddenStage('layernorm', 'norm', 1, layerNormed('layernorm')),
  ];
  return {
    figures: {
      ...figuresOf(sizes),
      sampleLength: {
        tokens: config.size('max_position_embeddings'),
        note: () => say('the longest text that the model takes'),
      },
    },
    stages: [...body, head(sizes, config.labels(2))],
    counted: [...body, hiddenStage('pooler', 'head', 1, pooler(sizes.hidden))],
    imageNotes: imagesOfSides(rows * tower.patchSize, columns * tower.patchSize),
  };
}

/** ViLT: one encoder over the words of a text and the patches of an image. */
export const viltFamily: ModelFamily = {
  modelTypes: ['vilt'],
  build: vilt,
};
