import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { layerNormed } from '../layers/block';
import { CLIP_NAMES, encoderLayer } from '../layers/encoder-layer';
import type { Stage } from '../model';
import type { Tracer } from '../tracer';
import type { Architecture, ModelFamily } from './family';
import { fusedProjections } from './fused-projections';
import { unheardStage } from './unheard-tower';
import { poolingHeadWeights, readTower, siglipPatches } from './vision-tower';

const IMAGES = 'embed_tokens_extend.image_embed.';
const SOUND = 'embed_tokens_extend.audio_embed.';

const entered = (t: Tracer, width: number) =>
  t.input([1, 1, width], t.settings.computeDtype, false, 'entered');

function linear(t: Tracer, name: string, from: number, out: number): void {
  t.linear(entered(t, from), { name, out, bias: true });
}

function normed(t: Tracer, name: string, width: number): void {
  layerNormed(name)(t, entered(t, width));
}

/** A convolution with bias; `shape` as PyTorch has it. */
function convolution(t: Tracer, name: string, shape: readonly [number, ...number[]]): void {
  t.weight({ name: `${name}.weight`, shape });
  t.weight({ name: `${name}.bias`, shape: [shape[0]] });
}

/** SigLIP with its pooling head, and two linear layers to the text's `width` (`Phi4MultimodalImageEmbedding`). */
function imageTower(config: ConfigReader, width: number): Stage[] {
  const sizes = readTower(config);
  const prefix = `${IMAGES}img_processor.`;
  const layer = encoderLayer({ prefix, ...sizes, names: CLIP_NAMES });
  return [
    unheardStage('image_embed', 1, (t) => {
      siglipPatches(prefix, sizes)(t, 1);
      normed(t, `${prefix}post_layernorm`, sizes.hidden);
      poolingHeadWeights(t, `${prefix}head`, sizes);
      for (const part of ['global', 'sub'])
        t.weight({ name: `${IMAGES}${part}_img_feature_extensor`, shape: [sizes.hidden] });
      linear(t, `${IMAGES}img_projection_up`, sizes.hidden, width);
      linear(t, `${IMAGES}img_projection_down`, width, width);
    }),
    unheardStage('image_embed.layers', sizes.layers, (t) => {
      layer(t, entered(t, sizes.hidden));
    }),
  ];
}

/** Frequencies that strided convolutions leave of the spectrogram (`Phi4MultimodalAudioConfig`, `nemo_final_size`). */
function frequenciesLeft(config: ConfigReader): number {
  const halvings = Math.floor(Math.log2(config.size('time_reduction')));
  const left = Array.from({ length: halvings }).reduce<number>(
    (size) => Math.floor((size - 1) / 2 + 1),
    config.size('input_size'),
  );
  return config.sizeOr(left, 'nemo_final_size');
}

/** Weights of one Conformer layer (`Phi4MultimodalAudioConformerEncoderLayer`). */
function conformerLayer(t: Tracer, config: ConfigReader): void {
  const prefix = `${SOUND}encoder.encoders.`;
  const hidden = config.size('hidden_size');
  const inner = config.size('intermediate_size');
  const heads = config.size('num_attention_heads') * Math.floor(hidden / config.size('num_attention_heads'));
  const pointed = config.size('ext_pw_out_channel');
  const separated = config.size('depthwise_separable_out_channel');
  const multiplied = hidden * config.size('depthwise_multiplier');
  for (const part of ['feed_forward_in', 'feed_forward_out']) {
    normed(t, `${prefix}${part}.layer_norm`, hidden);
    linear(t, `${prefix}${part}.gate_up_proj`, hidden, 2 * inner);
    linear(t, `${prefix}${part}.down_proj`, inner, hidden);
  }
  for (const part of ['q_proj', 'k_proj', 'v_proj']) linear(t, `${prefix}self_attn.${part}`, hidden, heads);
  linear(t, `${prefix}self_attn.o_proj`, heads, hidden);
  for (const part of ['layer_norm_att', 'layer_norm', 'conv.layer_norm'])
    normed(t, `${prefix}${part}`, hidden);
  convolution(t, `${prefix}conv.glu.ext_pw_conv_1d`, [2 * pointed, hidden, 1]);
  for (const part of ['b1', 'b2']) t.weight({ name: `${prefix}conv.glu.${part}`, shape: [pointed] });
  convolution(t, `${prefix}conv.dw_sep_conv_1d.dw_conv`, [multiplied, 1, config.size('kernel_size')]);
  convolution(t, `${prefix}conv.dw_sep_conv_1d.pw_conv`, [separated, multiplied, 1]);
  convolution(t, `${prefix}conv.ext_pw_conv_1d`, [pointed, hidden, 1]);
}

/** A Conformer behind strided convolutions, and two ways of two linear layers to the text (`Phi4MultimodalAudioEmbedding`). */
function soundTower(config: ConfigReader, width: number): Stage[] {
  const hidden = config.size('hidden_size');
  const channels = config.size('nemo_conv_channels');
  const embed = `${SOUND}encoder.embed.`;
  const further = Math.floor(Math.log2(config.size('time_reduction'))) - 1;
  const distances = config.size('bias_max_distance') * (config.flag(false, 'bias_symmetric') ? 1 : 2);
  const projected = hidden * config.sizeOr(1, 'downsample_rate');
  return [
    unheardStage('audio_embed', 1, (t) => {
      convolution(t, `${embed}conv.0`, [channels, 1, 3, 3]);
      for (let i = 0; i < further; i++) {
        convolution(t, `${embed}conv.${3 * i + 2}`, [channels, 1, 3, 3]);
        convolution(t, `${embed}conv.${3 * i + 3}`, [channels, channels, 1, 1]);
      }
      linear(t, `${embed}out`, channels * frequenciesLeft(config), hidden);
      const table = `${SOUND}encoder.relative_attention_bias_layer.bias_values.weight`;
      t.weight({ name: table, shape: [distances, config.size('num_attention_heads')], role: 'embedding' });
      for (const way of ['speech', 'vision_speech']) {
        linear(t, `${SOUND}up_proj_for_${way}`, projected, width);
        linear(t, `${SOUND}down_proj_for_${way}`, width, width);
      }
    }),
    unheardStage('audio_embed.encoders', config.size('num_blocks'), (t) => conformerLayer(t, config)),
  ];
}

/**
 * Phi-4 multimodal: Phi 4's layers behind a tower for images and one for sound, of which nothing is played (transformers 5.23,
 * `Phi4MultimodalForCausalLM`). The code that comes with the checkpoint holds an adapter for each besides, and runs with them.
 */
function build(config: ConfigReader): Architecture {
  const text = fusedProjections.build(config.as('phi3', 'phi4_multimodal'));
  const width = text.figures.hiddenSize;
  const vision = config.nested('phi4_multimodal_vision', 'vision_config').as('phi4_multimodal_vision');
  const audio = config.nested('phi4_multimodal_audio', 'audio_config').as('phi4_multimodal_audio');
  return {
    ...text,
    stages: [...imageTower(vision, width), ...soundTower(audio, width), ...text.stages],
    playsImages: false,
    playsSound: false,
    unplayed: ['own-adapters'],
    notes: [
      ...(text.notes ?? []),
      say('samples hold sound where the run says so; the part of the model for it is loaded'),
      say('adapters for images and sound that the code of the checkpoint loads besides are not estimated'),
    ],
  };
}

export const phiMultimodal: ModelFamily = { modelTypes: ['phi4_multimodal'], build };
