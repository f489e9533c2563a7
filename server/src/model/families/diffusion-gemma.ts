import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { rms } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import type { Stage } from '../model';
import { unheardStage } from './unheard-tower';

/**
 * What DiffusionGemma has beside Gemma 4: a gated MLP behind a norm, through which the decoder sees what it gave before (transformers 5.23,
 * `DiffusionGemmaSelfConditioning`). Encoder and decoder share all else: the encoder's pass over a sample is played as Gemma 4's, the
 * decoder's over a canvas, with another loss, is not. Biases, and all where nothing is tied, would be apart: such a model is refused.
 */
export function selfConditioning(text: ConfigReader, outer: ConfigReader): Stage[] {
  for (const [config, name, shared] of [
    [outer, 'tie_word_embeddings', true],
    [text, 'attention_bias', false],
  ] as const) {
    if (config.flag(shared, name) === shared) continue;
    throw new ConfigError(
      say('"{0}" is {1}, where the model needs {2}', config.pathOf(name), String(!shared), String(shared)),
    );
  }
  const prefix = 'decoder.self_conditioning';
  const hidden = text.size('hidden_size');
  return [
    unheardStage(prefix, 1, (t) => {
      const entered = t.input([1, 1, hidden], t.settings.computeDtype, false, 'self_conditioning_signal');
      gatedMlp(t, rms(`${prefix}.pre_norm`, 'gemma')(t, entered), {
        name: prefix,
        inner: text.size('intermediate_size'),
        activation: text.text('gelu_pytorch_tanh', 'hidden_activation'),
      });
    }),
  ];
}
