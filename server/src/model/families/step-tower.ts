import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { type Block, layerNormed } from '../layers/block';
import { convolution } from '../layers/convolution';
import { plainMlp } from '../layers/mlp';
import { residualLayer } from '../layers/residual';
import { LLAMA_PROJECTIONS, selfAttention } from '../layers/self-attention';
import { patchesOf, siglipPatches, type VisionTower } from './vision-tower';

const PREFIX = 'vision_model.';

/** Sides of what a convolution of kernel 3, stride 2 and padding 1 leaves. */
const halved = (side: number) => Math.floor((side - 1) / 2) + 1;

/** A ViT layer with rotary positions, whose branches are scaled by a learned vector (`Step3p7VisionEncoderLayer`). */
function stepLayer(config: ConfigReader, hidden: number): Block {
  const heads = config.size('heads', 'num_attention_heads');
  // `Step3p7VisionConfig` derives it, whatever the file states.
  const inner = Math.floor(hidden * config.number(4, 'mlp_ratio'));
  const activation = config.text('quick_gelu', 'hidden_act');
  const scaled =
    (name: string): Block =>
    (t, x) =>
      t.mulWeight(x, t.weight({ name: `${PREFIX}${name}`, shape: [hidden] }), name);
  const mixer = selfAttention({
    module: `${PREFIX}self_attn`,
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    projections: LLAMA_PROJECTIONS,
    output: 'out_proj',
    bias: { qkv: true, output: true },
    causal: false,
    dropout: config.dropout('attention_dropout'),
  });
  const projections = { up: 'fc1', down: 'fc2' };
  return (t, x) =>
    residualLayer(t, x, {
      beforeMixer: layerNormed(`${PREFIX}layernorm_before`),
      mixer,
      afterMixer: scaled('lambda_1'),
      beforeFeedForward: layerNormed(`${PREFIX}layernorm_after`),
      feedForward: (tracer, y) =>
        plainMlp(tracer, y, { name: `${PREFIX}mlp`, inner, activation, bias: true, projections }),
      afterFeedForward: scaled('lambda_2'),
    });
}

/**
 * Step 3.7: a ViT over the whole image, two convolutions that halve its sides and double its channels, one linear layer
 * (transformers 5.23, `Step3p7VisionModel`, `Step3p7Model`). Parts of large images, which the processor cuts out besides, are not counted.
 */
export function stepTower(config: ConfigReader, outer: ConfigReader, width: number): VisionTower {
  const hidden = config.size('width', 'hidden_size');
  const sizes = {
    hidden,
    imageSize: config.size('image_size'),
    patchSize: config.size('patch_size'),
    channels: config.sizeOr(3, 'num_channels'),
  };
  const side = halved(Math.sqrt(patchesOf(sizes)));
  const tokens = halved(side) ** 2;
  const downsampled = (index: number, rows: number): Block => {
    const from = hidden * 2 ** (index - 1);
    return (t, x) =>
      convolution(t, x, {
        name: `${PREFIX}downsampler${index}`,
        kernel: [2 * from, from, 3, 3],
        out: [x.shape[0] ?? 1, rows, 2 * from],
        bias: true,
      });
  };
  return {
    name: 'vision_model',
    embed: (t, images) => {
      const x = siglipPatches(PREFIX, { ...sizes, bias: false })(t, images);
      return layerNormed(`${PREFIX}pre_layernorm`)(t, x);
    },
    layers: new Array<Block>(config.size('layers', 'num_hidden_layers')).fill(stepLayer(config, hidden)),
    project: (t, x) =>
      t.linear(downsampled(2, tokens)(t, downsampled(1, side ** 2)(t, x)), {
        name: 'multi_modal_projector',
        out: width,
        bias: outer.flag(false, 'projector_bias'),
      }),
    tokens,
    note: {
      text: say('an image takes {0} tokens per tile; one tile is assumed', String(tokens)),
      unless: ['batch.imageTiles'],
    },
  };
}
