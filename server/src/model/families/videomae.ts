import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead } from '../layers/classification';
import { convolution } from '../layers/convolution';
import { selfAttention } from '../layers/self-attention';
import type { Stage } from '../model';
import { inputDtype } from '../trace-settings';
import { firstToken } from './bert';
import { hiddenStage, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { imagesOf } from './image-encoders';
import { readTower } from './vision-tower';

/** Blocks of a video: squares of an image over some frames. */
function blocksOf(config: ConfigReader) {
  const { imageSize, patchSize } = readTower(config);
  const frames = config.size('num_frames');
  const span = config.size('tubelet_size');
  return { frames, span, blocks: Math.floor(frames / span) * Math.floor(imageSize / patchSize) ** 2 };
}

/** Videos to `[videos, blocks, h]`, with sines that no one trains, laid on the GPU for each batch. */
function blockStage(config: ConfigReader): Stage {
  const { hidden, imageSize, patchSize, channels } = readTower(config);
  const { frames, span, blocks } = blocksOf(config);
  return {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const videos = imagesOf(t);
      const shape = [videos, frames, channels, imageSize ** 2];
      const pixels = t.batchInput(shape, inputDtype(t.settings), 'pixel_values');
      const made = convolution(t, pixels, {
        name: 'embeddings.patch_embeddings.projection',
        kernel: [hidden, channels, span, patchSize, patchSize],
        out: [videos, blocks, hidden],
        bias: true,
      });
      const sines = t.fused({
        name: 'embeddings.position_embeddings',
        inputs: [],
        outputs: [{ shape: [1, blocks, hidden], dtype: made.dtype }],
      });
      flow.set('hidden', t.add(made, sines, 'positions'));
    },
  };
}

/** `VideoMAELayer`, which names what its first norm and its attention give until it returns. `[videos, blocks, h]` in and out. */
function videoLayer(config: ConfigReader): Block {
  const { hidden, heads, inner, activation } = readTower(config);
  const dropout = config.dropout('hidden_dropout_prob');
  const bias = config.flag(true, 'qv_bias');
  const mixer = selfAttention({
    module: 'attention',
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    projections: { q: 'attention.query', k: 'attention.key', v: 'attention.value' },
    output: 'output.dense',
    bias: { qkv: bias, output: true, key: false },
    rotary: 0,
    causal: false,
    dropout: config.dropout('attention_probs_dropout_prob'),
    fp32Softmax: false,
  });
  const fed: Block = (t, x) =>
    t.scope(() => {
      const up = t.linear(t.hold(x), { name: 'intermediate.dense', out: inner, bias: true });
      return applyActivation(t, up, activation);
    });
  return (t, x) =>
    t.scope(() => {
      const normed = t.hold(layerNormed('layernorm_before')(t, t.hold(x)));
      const attended = t.hold(t.dropout(mixer(t, normed), dropout, 'attention.dropout'));
      const sum = t.hold(t.add(attended, x, 'residual'));
      const active = t.hold(fed(t, layerNormed('layernorm_after')(t, sum)));
      const down = t.linear(active, { name: 'output.dense', out: hidden, bias: true });
      return t.add(t.dropout(down, dropout, 'output.dropout'), sum, 'residual');
    });
}

/** The mean of all blocks and its norm, or the first of them behind a norm of each. */
function head(config: ConfigReader): Stage {
  return {
    name: 'classifier',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const x = t.enter(take(flow, 'hidden'), 'hidden');
      const pooled = config.flag(true, 'use_mean_pooling')
        ? layerNormed('fc_norm')(t, t.reduce(x, [x.shape[0] ?? 1, x.shape[2] ?? 1], 'mean'))
        : firstToken(t, x);
      const labels = config.labels(2);
      flow.set('loss', classificationHead(t, pooled, { name: 'classifier', labels, bias: true }));
    },
  };
}

function videomae(config: ConfigReader): Architecture {
  const sizes = readTower(config);
  const { frames, blocks } = blocksOf(config);
  const layer = videoLayer(config);
  const body = [
    blockStage(config),
    ...layerStages('encoder.layer', new Array<Block>(sizes.layers).fill(layer)),
    ...(config.flag(true, 'use_mean_pooling')
      ? []
      : [hiddenStage('layernorm', 'norm', 1, layerNormed('layernorm'))]),
  ];
  return {
    figures: {
      hiddenSize: sizes.hidden,
      layers: sizes.layers,
      attentionHeads: sizes.heads,
      keyValueHeads: sizes.heads,
      vocabulary: config.labels(2),
      maxPositions: blocks,
      sampleLength: {
        tokens: blocks,
        note: () => say('the blocks of a video: the model fixes them'),
      },
    },
    stages: [...body, head(config)],
    counted: body,
    notes: [
      say(
        'a sample is a video of {0} frames, {1} blocks in all, whatever the sequence length',
        frames,
        blocks,
      ),
    ],
  };
}

/** VideoMAE as it is trained to classify: a ViT over blocks of squares and frames. */
export const videomaeFamily: ModelFamily = {
  modelTypes: ['videomae'],
  build: videomae,
};
