import type { Model } from '../model/model';
import { hasOwnDecoder } from '../model/own-decoder';

function numberOf(model: Model, name: string): number | undefined {
  const value = textConfig(model)[name];
  return typeof value === 'number' && value > 0 ? value : undefined;
}

/** Fields of the part of the model that generates: nested under `text_config` in vision-language models. */
function textConfig(model: Model): Readonly<Record<string, unknown>> {
  const nested = model.config.text_config;
  return typeof nested === 'object' && nested !== null && !Array.isArray(nested)
    ? (nested as Readonly<Record<string, unknown>>)
    : model.config;
}

/** Elements of the keys and values of one token in one layer. Latent attention is cached expanded, as transformers does. */
function perTokenAndLayer(model: Model): number {
  const heads = model.attentionHeads;
  if (numberOf(model, 'kv_lora_rank') !== undefined) {
    const key = (numberOf(model, 'qk_nope_head_dim') ?? 0) + (numberOf(model, 'qk_rope_head_dim') ?? 0);
    return heads * (key + (numberOf(model, 'v_head_dim') ?? key));
  }
  const dimension = numberOf(model, 'head_dim') ?? numberOf(model, 'd_kv') ?? model.hiddenSize / heads;
  return 2 * model.keyValueHeads * dimension;
}

/** Tokens of a sample that generation has seen. */
interface SeenTokens {
  readonly prompt: number;
  /** Generated so far. */
  readonly fresh: number;
}

/** Layers of the decoder of a model with an encoder: those that attend to their own tokens and to the encoder's. */
function decoderLayers(model: Model): number {
  const stated = ['num_decoder_layers', 'decoder_layers', 'num_layers'].map((name) => numberOf(model, name));
  return stated.find((layers) => layers !== undefined) ?? model.layers / 2;
}

/**
 * Bytes of the keys and values that generation keeps of `samples` samples, on one GPU without tensor parallelism. Layers
 * with a sliding window keep its last tokens only, linear-attention and state-space layers none (`cache_utils.py`,
 * `DynamicCache`, by `layer_types`). LoadingMoment an encoder, decoder layers keep what was generated and, for cross-attention, the
 * encoded prompt (`EncoderDecoderCache`). `width` is bytes per element.
 */
export function keyValueCacheBytes(
  model: Model,
  samples: number,
  { prompt, fresh }: SeenTokens,
  width: number,
): number {
  const tokens = prompt + fresh;
  const each = samples * perTokenAndLayer(model) * width;
  if (hasOwnDecoder(model.config)) return each * tokens * decoderLayers(model);
  const types = textConfig(model).layer_types;
  if (!Array.isArray(types)) return model.attentionHeads > 0 ? each * tokens * model.layers : 0;
  const window = numberOf(model, 'sliding_window') ?? Number.POSITIVE_INFINITY;
  let kept = 0;
  for (const type of types) {
    if (type === 'full_attention') kept += tokens;
    else if (type === 'sliding_attention' || type === 'chunked_attention')
      kept += Math.min(tokens, window - 1);
  }
  return each * kept;
}

/** The same of the largest layer alone: what a growing cache has twice while it is concatenated. */
export function layerCacheBytes(model: Model, samples: number, tokens: number, width: number): number {
  return model.attentionHeads > 0 ? samples * perTokenAndLayer(model) * width * tokens : 0;
}
