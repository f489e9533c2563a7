import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { rms } from '../layers/block';
import { rmsNorm } from '../layers/norm';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { gemma3nSound } from './gemma3n-sound';
import { mobilenetTower } from './mobilenet-tower';
import { towerStages } from './vision-tower';

/** Images: timm's MobileNet V5, all convolutions. How timm checkpoints it is not known, so a run that trains it is not sure to fit. */
function visionTower(vision: ConfigReader): Stage[] {
  const name = vision.text('mobilenetv5_300m_enc', 'architecture');
  if (name !== 'mobilenetv5_300m_enc') {
    throw new ConfigError(say('the vision tower "{0}" is not supported', name));
  }
  return towerStages(mobilenetTower()).map((stage) => ({ ...stage, unplayed: 'vision-tower' as const }));
}

/** The tower for images, and that for sound. */
export function gemma3nTowers(config: ConfigReader): Stage[] {
  return [
    ...visionTower(config.nested('gemma3n_vision', 'vision_config').as('gemma3n_vision')),
    ...gemma3nSound(config.nested('gemma3n_audio', 'audio_config').as('gemma3n_audio')),
  ];
}

/** `Gemma3nMultimodalEmbedder`: tokens of its own, which it embeds whether a sample holds any or not. */
export interface SoftEmbedder {
  /** The text's embedding, with its own where its tokens stand. */
  readonly merge: (t: Tracer, hidden: Tensor) => Tensor;
  /** What a tower gives, `[n, tokens, hidden_size]`, to the width of the text; by weights that `merge` has. */
  readonly project: (t: Tracer, features: Tensor) => Tensor;
}

export const GEMMA3N_EMBEDDERS = ['vision', 'audio'] as const;

/**
 * The embedder of images or of sound. `width`: elements of a token in the text, which its tokens of `hidden_size` elements are
 * projected to (transformers 5.23, `modeling_gemma3n.py`).
 */
export function softEmbedderOf(
  config: ConfigReader,
  kind: (typeof GEMMA3N_EMBEDDERS)[number],
  width: number,
): SoftEmbedder {
  const own = config.nested(`gemma3n_${kind}`, `${kind}_config`).as(`gemma3n_${kind}`);
  const columns = own.size('hidden_size');
  const rows = own.size('vocab_size');
  const prefix = `embed_${kind}.`;
  const projected = (t: Tracer, ready: Tensor) => {
    const projection = t.linear(ready, { name: `${prefix}embedding_projection`, out: width });
    const name = `${prefix}embedding_post_projection_norm`;
    return rmsNorm(t, projection, { name, style: 'gemma', gain: false });
  };
  return {
    project: (t, features) =>
      t.again(() => projected(t, rms(`${prefix}soft_embedding_norm`, 'gemma')(t, features))),
    merge: (t, hidden) =>
      t.scope(() => {
        t.hold(hidden);
        const [b = 1, s = 1] = hidden.shape;
        const ids = t.input([b, s], 'int64', false, `${kind}_input_ids`);
        const hard = t.embedding(ids, { name: `${prefix}embedding`, rows, columns });
        const ready = rms(`${prefix}hard_embedding_norm`, 'gemma')(t, hard);
        t.weight({ name: `${prefix}soft_embedding_norm.weight`, shape: [columns] });
        const features = t.hold(projected(t, ready));
        return t.fused({
          name: `${prefix}where`,
          inputs: [features, hidden],
          outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
          savesBytes: b * s,
        });
      }),
  };
}
