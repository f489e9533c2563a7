import type { Block } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { LLAMA_PROJECTIONS, selfAttention } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Sizes } from './sizes';

/** Names of Llama's attention, which most later decoders took over. */
export const LLAMA_ATTENTION = { module: 'self_attn', projections: LLAMA_PROJECTIONS, output: 'o_proj' };

/** What an attention block takes from a config's sizes. */
export function attentionSizes(sizes: Sizes) {
  return {
    hidden: sizes.hidden,
    heads: sizes.heads,
    keyValueHeads: sizes.keyValueHeads,
    headDim: sizes.headDim,
    dropout: sizes.attentionDropout,
  };
}

/** Attention as in Llama, but for what `more` states. */
export function llamaAttention(sizes: Sizes, more: Partial<SelfAttentionSpec> = {}): Block {
  return selfAttention({ ...LLAMA_ATTENTION, ...attentionSizes(sizes), ...more });
}

/** Gated MLP as in Llama. */
export function llamaMlp(sizes: Sizes, bias?: boolean): Block {
  return (t, x) => gatedMlp(t, x, { name: 'mlp', inner: sizes.inner, activation: sizes.activation, bias });
}
