import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed, rms } from '../layers/block';
import { chunkedAttention } from '../layers/chunked-attention';
import {
  type ConformerSpec,
  clamp,
  conformerFeedForward,
  conformerLinear,
  lightConvolution,
  residualSum,
} from '../layers/conformer';
import { convolution } from '../layers/convolution';
import { rmsNorm } from '../layers/norm';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { heardStages, spectrogram } from './heard-tower';

const PREFIX = 'audio_tower.';
/**
 * Frames of the longest clip: the extractor cuts to 480,000 values at 16,000 a second, and takes a window of 321 each 160 of them, 160 zeros
 * before (`feature_extraction_gemma4.py`, transformers 5.23). Two convolutions make one of four.
 */
const LONGEST = Math.floor((480_000 + 160 - 321) / 160) + 1;

/** Linear layers of its layers. */
const LINEAR = [
  ...['q_proj', 'k_proj', 'v_proj', 'post'].map((part) => `${PREFIX}self_attn.${part}.linear`),
  ...['ffw_layer_1', 'ffw_layer_2'].map((part) => `${PREFIX}feed_forward1.${part}.linear`),
  ...['linear_start', 'linear_end'].map((part) => `${PREFIX}lconv1d.${part}.linear`),
  `${PREFIX}self_attn.relative_k_proj`,
];

const gemma = (name: string) => rms(name, 'gemma');

/** One of the two convolutions: `[b, from, frames, bins]` to `[b, to, frames / 2, bins / 2]`, norm over channels, ReLU. */
function subsampling(t: Tracer, x: Tensor, index: number, to: number): Tensor {
  const at = `${PREFIX}subsample_conv_projection.layer${index}`;
  const [batch = 1, from = 1, frames = 1, bins = 1] = x.shape;
  return t.scope(() => {
    const mask = t.input([batch, 1, frames, 1], 'bool', false, 'input_features_mask');
    const valid = t.cast(t.mul(x, mask, `${at}.mask`), t.settings.weightDtype, `${at}.to`);
    const shape = [batch, to, Math.ceil(frames / 2), Math.ceil(bins / 2)];
    const made = convolution(t, valid, { name: `${at}.conv`, kernel: [to, from, 3, 3], out: shape });
    const ready = t.hold(t.cast(made, inputDtype(t.settings), `${at}.cast`));
    const turned = t.view(ready, [batch, shape[2] ?? 1, shape[3] ?? 1, to]);
    const normed = t.view(layerNormed(`${at}.norm`, false)(t, turned), shape);
    return applyActivation(t, t.concat([normed], shape, `${at}.contiguous`), 'relu');
  });
}

/** `Gemma4AudioAttention`, in fp32. */
function attention(spec: ConformerSpec, config: ConfigReader): Block {
  const name = `${PREFIX}self_attn`;
  const { hidden } = spec;
  const [q, k, v, post] = ['q_proj', 'k_proj', 'v_proj', 'post'].map((part) =>
    conformerLinear(`${name}.${part}`, hidden, spec),
  ) as [Block, Block, Block, Block];
  const chunked = {
    heads: config.size('num_attention_heads'),
    // `Gemma4AudioConfig`.
    chunk: config.sizeOr(12, 'attention_chunk_size'),
    before: config.sizeOr(13, 'attention_context_left') - 1,
    behind: config.count(0, 'attention_context_right'),
    positions: `${name}.relative_k_proj`,
    scale: `${name}.per_dim_scale`,
    wide: true,
  };
  return (t, x) =>
    t.scope(() => {
      const wide = (body: Block) => t.cast(body(t, t.hold(x)), 'fp32', `${name}.float`);
      return chunkedAttention(t, { q: wide(q), k: wide(k), v: wide(v) }, chunked, (tracer, context) =>
        post(tracer, tracer.cast(context, x.dtype, `${name}.to`)),
      );
    });
}

/** `Gemma4AudioLayer`, `[b, frames, h]` in and out. */
function layer(spec: ConformerSpec, config: ConfigReader): Block {
  const attended = attention(spec, config);
  const [first, second] = [1, 2].map((i) => conformerFeedForward(`${PREFIX}feed_forward${i}`, spec)) as [
    Block,
    Block,
  ];
  const light = lightConvolution(`${PREFIX}lconv1d`, spec);
  return (t, x) =>
    t.scope(() => {
      const residual = t.hold(first(t, t.hold(x)));
      const normed = gemma(`${PREFIX}norm_pre_attn`)(t, clamp(t, residual, 'clamp_before_attention'));
      const mixed = clamp(t, attended(t, normed), 'clamp_after_attention');
      const sum = residualSum(
        t,
        residual,
        gemma(`${PREFIX}norm_post_attn`)(t, mixed),
        spec,
        'attention.residual',
      );
      const fed = second(t, light(t, sum));
      return gemma(`${PREFIX}norm_out`)(t, clamp(t, fed, 'clamp_output'));
    });
}

/**
 * Gemma 4's Conformer (E2B, E4B), and what leads from it to the text of `width` elements a token: `Gemma4AudioModel`,
 * `Gemma4MultimodalEmbedder`. A sample holds no more tokens of sound than it has.
 */
export function gemma4Sound(config: ConfigReader, width: number): Stage[] {
  const hidden = config.size('hidden_size');
  // `Gemma4AudioConfig`.
  const [first = 128, second = 32] = (config.list('subsampling_conv_channels') ?? []).map(Number);
  const out = config.size('output_proj_dims');
  const spec: ConformerSpec = {
    hidden,
    kernel: config.size('conv_kernel_size'),
    activation: config.text('silu', 'hidden_act'),
    newer: true,
    clips: config.flag(true, 'use_clipped_linears'),
  };
  return heardStages({
    hidden,
    embed: {
      name: 'audio_tower.subsample_conv_projection',
      body: (t, clips) => {
        // The projection reads a quarter of the bins, which are as many as the first channels.
        const bins = 4 * Math.floor(first / 4);
        const frames = t.settings.sound ? Math.min(LONGEST, 4 * t.settings.sequence) : 4;
        const sound = spectrogram(t, [clips, frames, bins], LINEAR);
        const halved = subsampling(t, sound, 0, first);
        const quarter = subsampling(t, halved, 1, second);
        const [, , left = 1, low = 1] = quarter.shape;
        const flat = t.concat([quarter], [clips, left, low * second], 'contiguous');
        return t.linear(flat, { name: `${PREFIX}subsample_conv_projection.input_proj_linear`, out: hidden });
      },
    },
    layers: {
      name: 'audio_tower.layers',
      count: config.size('num_hidden_layers'),
      body: layer(spec, config),
    },
    after: {
      name: 'embed_audio',
      body: (t, x) => {
        const projected = t.linear(x, { name: `${PREFIX}output_proj`, out, bias: true });
        const normed = rmsNorm(t, projected, { name: 'embed_audio.norm', style: 'gemma', gain: false });
        const features = t.linear(normed, { name: 'embed_audio.embedding_projection', out: width });
        // Frames that are no padding: two indices of 8 bytes for each.
        return t.fused({
          name: 'embed_audio.index',
          inputs: [features],
          outputs: [{ shape: features.shape, dtype: features.dtype }],
          savesBytes: (2 * 8 * features.elements) / width,
        });
      },
    },
  });
}
