import type { ConfigReader } from '../config';
import type { Stage } from '../model';
import { unheardStage } from './unheard-tower';

type Shape = readonly [number, ...number[]];

/** Ratios of the class (`MimiConfig`, `upsampling_ratios`). */
const RATIOS = [8, 6, 5, 4];

/** A convolution over one dimension and its bias: channels out and in, kernel. */
const convolved = (out: number, from: number, kernel: number): Shape[] => [[out, from, kernel], [out]];

/** `MimiResnetBlock`. */
function residual(config: ConfigReader, width: number): Shape[] {
  const narrow = Math.floor(width / config.size('compress'));
  return [
    ...convolved(narrow, width, config.size('residual_kernel_size')),
    ...convolved(width, narrow, 1),
    ...(config.flag(false, 'use_conv_shortcut') ? convolved(width, width, 1) : []),
  ];
}

/** A linear layer: its path, features out and in. */
type Linear = readonly [path: string, out: number, from: number];

/** `MimiTransformerLayer`: linear layers, which may get adapters, and beside them norms with biases and branches scaled by a vector. */
function transformerLayer(config: ConfigReader): { readonly linears: Linear[]; readonly vectors: Shape[] } {
  const hidden = config.size('hidden_size');
  const inner = config.size('intermediate_size');
  const heads = config.size('num_attention_heads');
  const headDim = config.sizeOr(Math.floor(hidden / heads), 'head_dim');
  const query = heads * headDim;
  const key = config.sizeOr(heads, 'num_key_value_heads') * headDim;
  const biases: Shape[] = config.flag(false, 'attention_bias') ? [[query], [key], [key], [hidden]] : [];
  return {
    linears: [
      ['self_attn.q_proj', query, hidden],
      ['self_attn.k_proj', key, hidden],
      ['self_attn.v_proj', key, hidden],
      ['self_attn.o_proj', hidden, query],
      ['mlp.fc1', inner, hidden],
      ['mlp.fc2', hidden, inner],
    ],
    vectors: [...biases, ...new Array<Shape>(6).fill([hidden])],
  };
}

/** Shapes of the SEANet on one side: `reads` samples, or writes them. */
function seanet(config: ConfigReader, ratios: readonly number[], reads: boolean): Shape[] {
  const hidden = config.size('hidden_size');
  const filters = config.size('num_filters');
  const channels = config.size('audio_channels');
  const blocks = config.count(1, 'num_residual_layers');
  const widest = filters * 2 ** ratios.length;
  const first = config.size('kernel_size');
  const last = config.size('last_kernel_size');
  const residuals = (width: number) => Array.from({ length: blocks }, () => residual(config, width)).flat();
  const steps = ratios.flatMap((ratio, i): Shape[] => {
    const wide = widest / 2 ** i;
    const narrow = wide / 2;
    return reads
      ? [...residuals(narrow), ...convolved(wide, narrow, 2 * ratio)]
      : [[wide, narrow, 2 * ratio], [narrow], ...residuals(narrow)];
  });
  return reads
    ? [...convolved(filters, channels, first), ...steps, ...convolved(hidden, widest, last)]
    : [...convolved(widest, hidden, first), ...steps, ...convolved(channels, filters, last)];
}

/**
 * Mimi, sound as codebooks: a convolution network and a transformer on either side, and the quantizer's projections (transformers 5.23,
 * `MimiModel`). It runs without gradients, so none of it is trained but by name: adapters
 * of its transformers count, and get none; codebooks are buffers, which no count has.
 */
export function mimiCodec(config: ConfigReader): Stage[] {
  const hidden = config.size('hidden_size');
  const code = config.size('vector_quantization_hidden_dimension', 'codebook_dim');
  const ratios = (config.list('upsampling_ratios') ?? RATIOS).map(Number);
  const rate = ratios.reduce((a, b) => a * b, 1);
  const frames = config.number(config.size('sampling_rate') / rate, 'encodec_frame_rate');
  // `MimiModel`: a convolution to and from 12.5 frames a second, twice its stride as kernel, where the network gives more.
  const stride = frames / config.number(frames / 2, '_frame_rate', 'frame_rate');
  const resampled: Shape[] =
    stride > 1
      ? [
          [hidden, hidden, 2 * stride],
          [hidden, hidden / config.size('upsample_groups'), 2 * stride],
        ]
      : [];
  // None where the quantizer is as wide.
  const projections: Shape[] =
    code === hidden
      ? []
      : [
          [code, hidden, 1],
          [hidden, code, 1],
        ];
  const quantizers = config.size('num_quantizers') > config.size('num_semantic_quantizers') ? 2 : 1;
  const layer = transformerLayer(config);
  const of = (name: string, count: number, shapes: readonly Shape[], modules: readonly string[] = []) =>
    unheardStage(`codec_model.${name}`, count, (t) => {
      for (const [i, shape] of shapes.entries()) {
        t.weight({ name: `codec_model.${name}.${modules[i] ?? i}.weight`, shape, trainable: false });
      }
    });
  const transformer = (side: string) =>
    unheardStage(`codec_model.${side}.layers`, config.size('num_hidden_layers'), (t) => {
      for (const [path, out, from] of layer.linears) {
        const name = `codec_model.${side}.layers.${path}`;
        t.weight({ name: `${name}.weight`, shape: [out, from], trainable: false });
        t.idleAdapter({ name, out }, from);
      }
      for (const [i, shape] of layer.vectors.entries())
        t.weight({ name: `codec_model.${side}.layers.${i}.weight`, shape, trainable: false });
    });
  return [
    of('seanet', 1, [...seanet(config, ratios, true), ...seanet(config, ratios, false), ...resampled]),
    transformer('encoder_transformer'),
    transformer('decoder_transformer'),
    of('quantizer', quantizers, projections, ['input_proj', 'output_proj']),
  ];
}
