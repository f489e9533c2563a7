import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { rms } from '../layers/block';
import { rmsNorm } from '../layers/norm';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { mobilenetTower } from './mobilenet-tower';
import { unheardStage } from './unheard-tower';
import { towerStages } from './vision-tower';

/** Images: timm's MobileNet V5, all convolutions. How timm checkpoints it is not known, so a run that trains it is not sure to fit. */
function visionTower(vision: ConfigReader): Stage[] {
  const name = vision.text('mobilenetv5_300m_enc', 'architecture');
  if (name !== 'mobilenetv5_300m_enc') {
    throw new ConfigError(say('the vision tower "{0}" is not supported', name));
  }
  return towerStages(mobilenetTower()).map((stage) => ({ ...stage, unplayed: 'vision-tower' as const }));
}

/** Sound: the Universal Speech Model's Conformer. */
function audioTower(audio: ConfigReader): Stage[] {
  const prefix = 'audio_tower.';
  const hidden = audio.size('hidden_size');
  // `Gemma3nAudioConfig`.
  const [first = 128, second = 32] = (audio.list('sscp_conv_channel_size') ?? []).map(Number);
  const heads = audio.size('conf_num_attention_heads');
  const linear = (t: Tracer, name: string, from: number, out: number) =>
    t.linear(t.input([1, 1, from], t.settings.weightDtype, false, name), { name: `${prefix}${name}`, out });
  const vector = (t: Tracer, name: string, length: number) =>
    t.weight({ name: `${prefix}${name}.weight`, shape: [length] });
  const kernels = (audio.list('sscp_conv_kernel_size') ?? []) as readonly (readonly number[])[];
  const strides = (audio.list('sscp_conv_stride_size') ?? []) as readonly (readonly number[])[];
  // Frequencies that are left, each kernel padded by one on either side.
  const left = kernels.reduce(
    (size, kernel, i) => Math.floor((size + 2 - (kernel[1] ?? 3)) / (strides[i]?.[1] ?? 2)) + 1,
    audio.size('input_feat_size'),
  );
  const before = unheardStage('audio_tower.subsample_conv_projection', 1, (t) => {
    for (const [i, from, to] of [
      [0, 1, first],
      [1, first, second],
    ] as const) {
      const shape = [to, from, ...(kernels[i] ?? [3, 3])];
      t.weight({ name: `${prefix}conv_${i}.conv.weight`, shape });
      vector(t, `conv_${i}.norm`, to);
    }
    linear(t, 'input_proj_linear', second * left, hidden);
  });
  const layers = unheardStage('audio_tower.conformer', audio.size('conf_num_hidden_layers'), (t) => {
    for (const part of ['ffw_layer_start', 'ffw_layer_end']) {
      vector(t, `${part}.pre_layer_norm`, hidden);
      linear(t, `${part}.ffw_layer_1`, hidden, 4 * hidden);
      linear(t, `${part}.ffw_layer_2`, 4 * hidden, hidden);
      vector(t, `${part}.post_layer_norm`, hidden);
    }
    vector(t, 'attention.pre_attn_norm', hidden);
    t.weight({ name: `${prefix}attention.attn.per_dim_scale`, shape: [hidden / heads] });
    for (const part of ['relative_position_embedding.pos_proj', 'q_proj', 'k_proj', 'v_proj'])
      linear(t, `attention.attn.${part}`, hidden, hidden);
    linear(t, 'attention.post', hidden, hidden);
    vector(t, 'attention.post_norm', hidden);
    vector(t, 'lconv1d.pre_layer_norm', hidden);
    linear(t, 'lconv1d.linear_start', hidden, 2 * hidden);
    const kernel = audio.size('conf_conv_kernel_size');
    t.weight({ name: `${prefix}lconv1d.depthwise_conv1d.weight`, shape: [hidden, 1, kernel] });
    vector(t, 'lconv1d.conv_norm', hidden);
    linear(t, 'lconv1d.linear_end', hidden, hidden);
    vector(t, 'norm', hidden);
  });
  return [before, layers];
}

/** The tower for images, and that for sound, of which nothing is computed here. */
export function gemma3nTowers(config: ConfigReader): Stage[] {
  return [
    ...visionTower(config.nested('gemma3n_vision', 'vision_config').as('gemma3n_vision')),
    ...audioTower(config.nested('gemma3n_audio', 'audio_config').as('gemma3n_audio')),
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
