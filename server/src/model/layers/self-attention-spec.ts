import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import type { AttentionSpec } from './attention';
import type { Block } from './block';
import type { RmsNormSpec } from './norm';

/** Norm of queries and keys before the scores. */
export interface QueryKeyNorm {
  /**
   * `head`: RMS norm over each head, one gain for all; `full`: RMS norm over all heads together; `l2`: per head, no
   * gain; `centred`: Cohere's and StableLM's layer norm with a gain per head; `layer`: `nn.LayerNorm` per head.
   */
  readonly kind: 'head' | 'full' | 'l2' | 'centred' | 'layer';
  readonly style?: RmsNormSpec['style'];
  /** Names of the two modules; default `q_norm`, `k_norm`. */
  readonly names?: readonly [string, string];
  /** Hunyuan and Llama 4 norm after the rotation. */
  readonly afterRotary?: boolean;
  /** Normed queries are multiplied by a constant (Muse Glimmer). */
  readonly scalesQueries?: boolean;
}

export interface SelfAttentionSpec {
  /** Module path inside the layer, for example `self_attn`. */
  readonly module: string;
  /** Width of the result. */
  readonly hidden: number;
  /** Over all ranks. */
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  /** Width of a head of values, where it is another than that of queries and keys (MiMo V2). */
  readonly valueDim?: number;
  /** Values are multiplied by a constant (MiMo V2). */
  readonly scaledValues?: boolean;
  /** One linear each, or one for all three (its name). */
  readonly projections: { readonly q: string; readonly k: string; readonly v: string } | string;
  readonly output: string;
  readonly bias?: { readonly qkv: boolean; readonly output: boolean; readonly key?: boolean };
  /** Share of each head that is rotated; 0 for models with other positions. Default 1. */
  readonly rotary?: number;
  readonly norm?: QueryKeyNorm;
  readonly causal?: boolean;
  readonly cached?: AttentionSpec['cached'];
  readonly window?: number;
  readonly softcap?: boolean;
  readonly dropout?: number;
  /** Dropout on the result of the output projection. */
  readonly outputDropout?: number;
  /** A learned logit per head joins the softmax (gpt-oss). */
  readonly sinks?: boolean;
  /** What is added to the scores, made of the layer's input: a choice of blocks (MiniMax M3). `[batch, heads, queries, keys]`. */
  readonly mask?: Block;
  /** Eager attention subtracts the largest score of each row before the softmax, also without sinks (MiMo V2). */
  readonly shiftsScores?: boolean;
  readonly boundsScores?: boolean;
  /** A sigmoid gate on the result: from the query projection (Qwen3-Next), or from the linear of that name (AFMoE). */
  readonly gate?: true | string;
  /** The gate is one value per head, in place of one per channel (Step 3.5). */
  readonly gatesHeads?: boolean;
  /** What is added to queries, keys and values, made of the layer's input (Zamba2's adapters). `[b, s, h]` to the width of each. */
  readonly added?: (t: Tracer, x: Tensor, which: 'q' | 'k' | 'v') => Tensor;
  /** Queries, keys and values are clamped (DBRX, OLMo). */
  readonly clip?: boolean;
  readonly fp32Softmax?: boolean;
  readonly fp32Scores?: boolean;
  readonly kernels?: AttentionSpec['kernels'];
  readonly grouping?: AttentionSpec['grouping'];
  readonly fusedScores?: boolean;
  readonly scaledInPlace?: boolean;
  readonly returnsWeights?: boolean;
  /** Values are what keys are projected to, before their norm (Gemma 4 on layers that see everything). */
  readonly keysAsValues?: boolean;
  /** Values are normed without a gain (Gemma 4). */
  readonly normsValues?: boolean;
  /** Queries, keys and values are laid out head by head before the kernel (Whisper). */
  readonly packedHeads?: boolean;
  /** The rotated part of each head is concatenated with the rest even where there is none (Phi 3). */
  readonly joinsRotated?: boolean;
}

/** Queries, keys and values of the heads on this rank, before the rotation. */
export interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly gate?: Tensor;
}
