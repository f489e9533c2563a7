import type { ConfigReader } from '../config';
import { type LatentAttentionSpec, latentAttention } from '../layers/latent-attention';
import type { Sizes } from './sizes';

/** Multi-head latent attention as DeepSeek's configs describe it, and those that took it over. */
export function deepseekAttention(
  config: ConfigReader,
  sizes: Sizes,
  indexer?: LatentAttentionSpec['indexer'],
) {
  return latentAttention({
    module: 'self_attn',
    hidden: sizes.hidden,
    heads: sizes.heads,
    queryRank: config.explicitNull('q_lora_rank') ? undefined : config.size('q_lora_rank'),
    keyValueRank: config.size('kv_lora_rank'),
    plainDim: config.size('qk_nope_head_dim'),
    rotaryDim: config.size('qk_rope_head_dim'),
    valueDim: config.size('v_head_dim'),
    bias: config.flag(false, 'attention_bias'),
    dropout: sizes.attentionDropout,
    scaledQueries: config.modelType === 'mistral4',
    unrotated: config.modelType === 'kimi_linear',
    indexer,
  });
}
