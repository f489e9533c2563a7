import type { ConfigReader } from '../config';
import { layerNormed } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import type { Stage } from '../model';
import type { Tracer } from '../tracer';
import { unheardStage } from './unheard-tower';

const PREFIX = 'audio_tower.';

/** Sizes of Whisper's encoder, by which every tower here is built. Widths in elements. */
interface SoundSizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly inner: number;
  readonly bins: number;
  readonly activation: string;
}

function soundSizes(config: ConfigReader): SoundSizes {
  return {
    hidden: config.size('d_model', 'hidden_size'),
    layers: config.size('encoder_layers', 'num_hidden_layers'),
    heads: config.size('encoder_attention_heads', 'num_attention_heads'),
    inner: config.size('encoder_ffn_dim', 'intermediate_size'),
    bins: config.size('num_mel_bins'),
    activation: config.text('gelu', 'activation_function'),
  };
}

const sound = (name: string, count: number, body: (t: Tracer) => void): Stage => ({
  ...unheardStage(name, count, body),
  unplayed: 'sound-tower',
});

function linear(t: Tracer, name: string, from: number, out: number, bias: boolean): void {
  t.linear(t.input([1, 1, from], t.settings.weightDtype, false, name), { name, out, bias });
}

function normed(t: Tracer, name: string, width: number): void {
  layerNormed(name)(t, t.input([1, 1, width], t.settings.weightDtype, false, name));
}

/** A convolution with bias: `shape` as PyTorch has it. */
function convolution(t: Tracer, name: string, shape: readonly [number, ...number[]]): void {
  t.weight({ name: `${PREFIX}${name}.weight`, shape });
  t.weight({ name: `${PREFIX}${name}.bias`, shape: [shape[0]] });
}

/** Whisper's layers; keys have no bias but in Qwen3-Omni (`k_proj` of the classes' attention, transformers 5.23). */
function layers(sizes: SoundSizes, keyBias: boolean): Stage {
  const { hidden, heads, inner, activation } = sizes;
  const layer = encoderLayer({
    prefix: PREFIX,
    hidden,
    heads,
    inner,
    activation,
    names: { ...CLIP_NAMES, norms: ['self_attn_layer_norm', 'final_layer_norm'], mlp: '' },
    ...(keyBias ? {} : { keyBias: false }),
  });
  return sound('audio_tower.layers', sizes.layers, (t) => {
    layer(t, t.input([1, 1, hidden], t.settings.weightDtype, false, 'audio'));
  });
}

/** Two convolutions over the spectrogram, and learned positions where the tower has them. */
function whisperFront(config: ConfigReader, { hidden, bins }: SoundSizes, positions: boolean): Stage {
  return sound('audio_tower.embeddings', 1, (t) => {
    convolution(t, 'conv1', [hidden, bins, 3]);
    convolution(t, 'conv2', [hidden, hidden, 3]);
    if (!positions) return;
    const shape = [config.size('max_source_positions'), hidden];
    t.weight({ name: `${PREFIX}embed_positions.weight`, shape, trainable: false });
  });
}

/** Sound in Qwen2.5-Omni: Whisper's encoder in windows, projected to the text's `width` (`modeling_qwen2_5_omni.py`). */
export function omniSound(config: ConfigReader, width: number): Stage[] {
  const sizes = soundSizes(config);
  return [
    whisperFront(config, sizes, false),
    layers(sizes, false),
    sound('audio_tower.proj', 1, (t) => {
      normed(t, `${PREFIX}ln_post`, sizes.hidden);
      t.weight({ name: `${PREFIX}audio_bos_eos_token.weight`, shape: [2, width], role: 'embedding' });
      linear(t, `${PREFIX}proj`, sizes.hidden, width, true);
    }),
  ];
}

/** Sound in Qwen3-Omni: three strided convolutions of two dimensions in front of the layers (`modeling_qwen3_omni_moe.py`). */
export function omniMoeSound(config: ConfigReader, width: number): Stage[] {
  const sizes = soundSizes(config);
  const channels = config.size('downsample_hidden_size');
  const halved = (bins: number) => Math.floor((bins + 1) / 2);
  const left = halved(halved(halved(sizes.bins)));
  return [
    sound('audio_tower.embeddings', 1, (t) => {
      convolution(t, 'conv2d1', [channels, 1, 3, 3]);
      convolution(t, 'conv2d2', [channels, channels, 3, 3]);
      convolution(t, 'conv2d3', [channels, channels, 3, 3]);
      linear(t, `${PREFIX}conv_out`, channels * left, sizes.hidden, false);
    }),
    layers(sizes, true),
    sound('audio_tower.proj', 1, (t) => {
      normed(t, `${PREFIX}ln_post`, sizes.hidden);
      linear(t, `${PREFIX}proj1`, sizes.hidden, sizes.hidden, true);
      linear(t, `${PREFIX}proj2`, sizes.hidden, width, true);
    }),
  ];
}

/** Whisper's encoder with its positions and last norm, and what leads from it to the text. */
function whisperSound(config: ConfigReader, project: (t: Tracer, sizes: SoundSizes) => void): Stage[] {
  const sizes = soundSizes(config);
  return [
    whisperFront(config, sizes, true),
    layers(sizes, false),
    sound('audio_tower.proj', 1, (t) => {
      normed(t, `${PREFIX}layer_norm`, sizes.hidden);
      project(t, sizes);
    }),
  ];
}

/** Sound in Qwen2-Audio: Whisper's encoder and one linear layer (`modeling_qwen2_audio.py`). */
export function audioSound(config: ConfigReader, width: number): Stage[] {
  return whisperSound(config, (t, { hidden }) =>
    linear(t, 'multi_modal_projector.linear', hidden, width, true),
  );
}

/** Sound in Voxtral: Whisper's encoder, four frames joined, two linear layers (`modeling_voxtral.py`). */
export function voxtralSound(config: ConfigReader, width: number): Stage[] {
  return whisperSound(config, (t, { inner }) => {
    linear(t, 'multi_modal_projector.linear_1', inner, width, false);
    linear(t, 'multi_modal_projector.linear_2', width, width, false);
  });
}
