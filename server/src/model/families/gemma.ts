import type { ConfigReader } from '../config';
import { type Block, rms } from '../layers/block';
import { residualLayer } from '../layers/residual';
import { type DecoderModel, decoderStages } from './decoder-model';
import type { ModelFamily } from './family';
import { llamaAttention, llamaMlp } from './llama-parts';
import { figuresOf, layersOfKinds, readSizes, type Sizes, slidingLayers } from './sizes';

/** Gemma 2 and 3 decoder: four norms per layer, windows on most layers, soft caps (2) or normed heads (3). */
function gemmaDecoder(config: ConfigReader, sizes: Sizes): DecoderModel {
  const third = config.modelType === 'gemma3_text';
  const window = config.count(0, 'sliding_window');
  // `Gemma3TextConfig` and `Gemma2Config`, `layer_types`.
  const period = third ? config.sizeOr(6, 'sliding_window_pattern') : 2;
  const sliding = slidingLayers(config, sizes.layers, period);
  const cap = config.has('attn_logit_softcapping');
  const bias = config.flag(false, 'attention_bias');
  const layer = (kind: 'sliding' | 'full'): Block => {
    const attention = llamaAttention(sizes, {
      bias: { qkv: bias, output: bias },
      norm: third ? { kind: 'head', style: 'gemma' } : undefined,
      window: kind === 'sliding' && window > 0 ? window : undefined,
      softcap: cap,
    });
    return (t, x) =>
      residualLayer(t, x, {
        beforeMixer: rms('input_layernorm', 'gemma'),
        mixer: attention,
        afterMixer: rms('post_attention_layernorm', 'gemma'),
        beforeFeedForward: rms('pre_feedforward_layernorm', 'gemma'),
        feedForward: llamaMlp(sizes),
        afterFeedForward: rms('post_feedforward_layernorm', 'gemma'),
      });
  };
  return {
    embedding: {
      name: 'embed_tokens',
      rows: sizes.vocabulary,
      columns: sizes.hidden,
      scaled: true,
      scaledApart: !third,
    },
    layers: layersOfKinds(
      sliding.map((s) => (s ? 'sliding' : 'full')),
      layer,
    ),
    finalNorm: rms('norm', 'gemma'),
    head: {
      name: 'lm_head',
      vocabulary: sizes.vocabulary,
      tiedTo: sizes.tied ? 'embed_tokens.weight' : undefined,
      softcap: config.has('final_logit_softcapping'),
    },
  };
}

export const gemma: ModelFamily = {
  modelTypes: ['gemma2', 'gemma3_text'],
  build: (config) => {
    const sizes = readSizes(config);
    return { figures: figuresOf(sizes), stages: decoderStages(gemmaDecoder(config, sizes)) };
  },
};
