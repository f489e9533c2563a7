import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, rms } from '../layers/block';
import { type ChunkedAttentionSpec, chunkedAttention } from '../layers/chunked-attention';
import {
  type ConformerSpec,
  clamp,
  conformerFeedForward,
  conformerLinear,
  lightConvolution,
} from '../layers/conformer';
import { convolution } from '../layers/convolution';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { heardStages, spectrogram } from './heard-tower';

const PREFIX = 'audio_tower.';
/**
 * Frames of the longest clip: the extractor cuts to 480,000 values at 16,000 a second, and takes a window of 513 each 160 of them
 * (`feature_extraction_gemma3n.py`, transformers 5.23).
 */
const LONGEST = Math.floor((480_000 - 513) / 160) + 1;

/** Linear layers of its layers. */
const LINEAR = [
  ...['q_proj', 'k_proj', 'v_proj', 'relative_position_embedding.pos_proj'].map(
    (part) => `${PREFIX}attention.attn.${part}`,
  ),
  ...['ffw_layer_1', 'ffw_layer_2'].map((part) => `${PREFIX}ffw_layer_start.${part}`),
  ...['linear_start', 'linear_end'].map((part) => `${PREFIX}lconv1d.${part}`),
  `${PREFIX}attention.post`,
];

const gemma = (name: string) => rms(name, 'gemma');

/** One of the two convolutions, `[time, frequency]`, in frames and bins. */
interface Subsampling {
  readonly channels: number;
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
}

/** A pair of numbers, or three where the config states none (`Gemma3nAudioConfig`). */
function pair(value: unknown, other: number): readonly [number, number] {
  const [first = other, second = other] = Array.isArray(value) ? value.map(Number) : [];
  return [first, second];
}

function subsamplings(config: ConfigReader): Subsampling[] {
  const [kernels, strides] = ['sscp_conv_kernel_size', 'sscp_conv_stride_size'].map(
    (name) => config.list(name) ?? [],
  );
  // `Gemma3nAudioConfig`.
  const channels = config.list('sscp_conv_channel_size') ?? [128, 32];
  return [0, 1].map((i) => ({
    channels: Number(channels[i]),
    kernel: pair(kernels?.[i], 3),
    stride: pair(strides?.[i], 2),
  }));
}

/**
 * `Gemma3nAudioCumulativeGroupNorm` over bins and channels of all frames so far, in fp32: `[b, frames, bins, channels]` in and out. What is
 * known of each frame alone is too small to count, the mask of ones is not.
 */
function cumulativeNorm(t: Tracer, x: Tensor, name: string): Tensor {
  return t.scope(() => {
    const [batch = 1, frames = 1, , channels = 1] = x.shape;
    const each = [batch, frames, 1, 1];
    const wide = t.hold(t.cast(t.hold(x), 'fp32', `${name}.float`));
    const ones = t.hold(
      t.fused({
        name: `${name}.ones`,
        inputs: [],
        outputs: [{ shape: x.shape, dtype: 'fp32' }],
        fusible: 'pointwise',
      }),
    );
    const mean = t.hold(t.reduce(wide, each, `${name}.mean`));
    const squares = t.hold(t.power(t.add(wide, mean, `${name}.centre`), `${name}.pow`));
    const root = t.keepOutput(t.reduce(squares, each, `${name}.variance`), `${name}.rsqrt`);
    const normed = t.mul(t.add(wide, mean, `${name}.centre`), root, `${name}.mul`);
    const gain = t.weight({ name: `${name}.weight`, shape: [channels] });
    const scaled = t.hold(t.mulWeight(normed, { ...gain, dtype: 'fp32' }, `${name}.gain`));
    const result = t.hold(t.mul(scaled, ones, `${name}.valid`));
    return t.cast(result, x.dtype, `${name}.to`);
  });
}

/** `Gemma3nAudioSSCPConvBlock`, `[b, from, frames, bins]` in: padded behind in time, by one on either side in frequency. */
function subsampled(t: Tracer, x: Tensor, index: number, { channels, kernel, stride }: Subsampling): Tensor {
  const at = `${PREFIX}conv_${index}`;
  const [batch = 1, from = 1, frames = 1, bins = 1] = x.shape;
  return t.scope(() => {
    const filled = [batch, from, frames + kernel[0] - 1, bins + 2];
    const padded = t.hold(t.cast(t.copy(x, filled, `${at}.pad`), t.settings.weightDtype, `${at}.to`));
    const [left, low] = [0, 1].map(
      (i) => Math.floor(((filled[2 + i] ?? 1) - (kernel[i] ?? 1)) / (stride[i] ?? 1)) + 1,
    );
    const shape = [batch, channels, left ?? 1, low ?? 1];
    const made = convolution(t, padded, {
      name: `${at}.conv`,
      kernel: [channels, from, ...kernel],
      out: shape,
    });
    const ready = t.hold(t.cast(made, inputDtype(t.settings), `${at}.cast`));
    const turned = t.hold(t.concat([ready], [batch, left ?? 1, low ?? 1, channels], `${at}.permute`));
    const normed = t.hold(cumulativeNorm(t, turned, `${at}.norm`));
    return applyActivation(t, t.hold(t.concat([normed], shape, `${at}.contiguous`)), 'relu');
  });
}

/** `Gemma3nAudioConformerAttention`, in the type of its input. */
function attention(spec: ConformerSpec, config: ConfigReader): Block {
  const at = `${PREFIX}attention`;
  const [q, k, v] = ['q_proj', 'k_proj', 'v_proj'].map((part) =>
    conformerLinear(`${at}.attn.${part}`, spec.hidden, spec),
  ) as [Block, Block, Block];
  const post = conformerLinear(`${at}.post`, spec.hidden, spec);
  const chunked: ChunkedAttentionSpec = {
    heads: config.size('conf_num_attention_heads'),
    // `Gemma3nAudioConfig`.
    chunk: config.sizeOr(12, 'conf_attention_chunk_size'),
    before: config.sizeOr(13, 'conf_attention_context_left') - 1,
    behind: config.count(0, 'conf_attention_context_right'),
    positions: `${at}.attn.relative_position_embedding.pos_proj`,
    scale: `${at}.attn.per_dim_scale`,
    wide: false,
  };
  return (t, x) =>
    t.scope(() => {
      const clamped = t.hold(clamp(t, t.hold(x), `${at}.clamp_input`));
      const normed = t.hold(gemma(`${at}.pre_attn_norm`)(t, clamped));
      const mixed = t.hold(
        chunkedAttention(t, { q: q(t, normed), k: k(t, normed), v: v(t, normed) }, chunked),
      );
      const after = clamp(t, post(t, mixed), `${at}.clamp_output`);
      return t.add(x, gemma(`${at}.post_norm`)(t, after), `${at}.residual`);
    });
}

/** `Gemma3nAudioConformerBlock`, `[b, frames, h]` in and out. */
function block(spec: ConformerSpec, config: ConfigReader): Block {
  const start = conformerFeedForward(`${PREFIX}ffw_layer_start`, spec);
  const end = conformerFeedForward(`${PREFIX}ffw_layer_end`, spec);
  const attended = attention(spec, config);
  const light = lightConvolution(`${PREFIX}lconv1d`, spec);
  return (t, x) =>
    t.scope(() => {
      const [batch = 1, frames = 1] = x.shape;
      const mixed = attended(t, start(t, t.hold(x)));
      const mask = t.input([batch, frames, 1], mixed.dtype, false, 'validity_mask');
      const valid = t.hold(t.mul(mixed, mask, 'lconv1d.valid'));
      const fed = end(t, light(t, valid));
      return gemma(`${PREFIX}norm`)(t, clamp(t, fed, 'clamp_output'));
    });
}

/** What is left of the frames of the last layer: each fourth, those of padding blanked. */
function reduced(t: Tracer, x: Tensor, factor: number): Tensor {
  const [batch = 1, frames = 1, hidden = 1] = x.shape;
  const shape = [batch, Math.ceil(frames / factor), hidden];
  return t.fused({
    name: 'audio_tower.masked_fill',
    inputs: [t.slice(x, shape)],
    outputs: [{ shape, dtype: x.dtype }],
    savesBytes: batch * (shape[1] ?? 1),
  });
}

/** Gemma 3n's Conformer, the Universal Speech Model's (`Gemma3nAudioEncoder`): a clip of 30 seconds, 188 tokens, a sample. */
export function gemma3nSound(config: ConfigReader): Stage[] {
  const hidden = config.size('hidden_size');
  const factor = config.sizeOr(4, 'conf_reduction_factor');
  const bins = config.size('input_feat_size');
  const convolutions = subsamplings(config);
  if (convolutions.some(({ channels }) => !(channels > 0)))
    throw new ConfigError(say('"{0}" is missing', 'sscp_conv_channel_size'));
  const spec: ConformerSpec = {
    hidden,
    kernel: config.size('conf_conv_kernel_size'),
    activation: 'silu',
    newer: false,
    clips: false,
  };
  return heardStages({
    hidden,
    embed: {
      name: 'audio_tower.subsample_conv_projection',
      body: (t, clips) => {
        const frames = t.settings.sound ? LONGEST : 4;
        const sound = spectrogram(t, [clips, frames, bins], LINEAR);
        const small = convolutions.reduce((x, one, i) => subsampled(t, x, i, one), sound);
        const [, channels = 1, left = 1, low = 1] = small.shape;
        const flat = t.concat([small], [clips, left, low * channels], 'contiguous');
        return t.linear(flat, { name: `${PREFIX}input_proj_linear`, out: hidden });
      },
    },
    layers: {
      name: 'audio_tower.conformer',
      count: config.size('conf_num_hidden_layers'),
      body: block(spec, config),
    },
    after: { name: 'audio_tower.reduced', body: (t, x) => reduced(t, x, factor) },
  });
}
