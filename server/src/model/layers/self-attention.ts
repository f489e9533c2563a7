import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { type AttentionSpec, attend } from './attention';
import { type Block, centredNorm } from './block';
import { fusedLoraLinears, fusesLora } from './fused-lora';
import { litgptHeads, withAdapterPrompt } from './litgpt-attention';
import { layerNorm, type RmsNormSpec, rmsNorm } from './norm';
import { rotary } from './rotary';

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
  /** One linear each, or one for all three (its name). */
  readonly projections: { readonly q: string; readonly k: string; readonly v: string } | string;
  readonly output: string;
  readonly bias?: { readonly qkv: boolean; readonly output: boolean; readonly key?: boolean };
  /** Share of each head that is rotated; 0 for models with other positions. Default 1. */
  readonly rotary?: number;
  readonly norm?: QueryKeyNorm;
  readonly causal?: boolean;
  readonly window?: number;
  readonly softcap?: boolean;
  readonly dropout?: number;
  /** Dropout on the result of the output projection. */
  readonly outputDropout?: number;
  /** A learned logit per head joins the softmax (gpt-oss). */
  readonly sinks?: boolean;
  /** A sigmoid gate on the result: from the query projection (Qwen3-Next), or from the linear of that name (AFMoE). */
  readonly gate?: true | string;
  /** Queries, keys and values are clamped (DBRX, OLMo). */
  readonly clip?: boolean;
  readonly fp32Softmax?: boolean;
  readonly fp32Scores?: boolean;
  readonly kernels?: AttentionSpec['kernels'];
  readonly grouping?: AttentionSpec['grouping'];
  readonly fusedScores?: boolean;
  readonly scaledInPlace?: boolean;
  /** The rotated part of each head is concatenated with the rest even where there is none (Phi 3). */
  readonly joinsRotated?: boolean;
}

export const LLAMA_PROJECTIONS = { q: 'q_proj', k: 'k_proj', v: 'v_proj' };

/** Self-attention from `[b, s, h]` to `[b, s, hidden]`: projections, norms, rotary positions, kernel, output. */
export function selfAttention(spec: SelfAttentionSpec): Block {
  return (t, x) => attentionOver(t, x, spec);
}

/** What attention reads beside its input. */
export interface AttentionSources {
  /** Keys and values come from here: the encoder's result, in cross-attention. */
  readonly source?: Tensor;
  /** Added to the scores, `[1, heads, queries, keys]`. */
  readonly positionBias?: Tensor;
}

/** `selfAttention` with keys and values from another sequence, or with a position bias. */
export function attentionOver(
  t: Tracer,
  x: Tensor,
  spec: SelfAttentionSpec,
  sources: AttentionSources = {},
): Tensor {
  return t.scope(() => run(t, x, spec, sources));
}

/** Heads on the rank that has the most; key and value heads fewer than ranks are copied. */
function localHeads(count: number, ranks: number): number {
  return Math.max(1, Math.ceil(count / ranks));
}

/** Queries, keys and values of the heads on this rank, before the rotation. */
export interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly gate?: Tensor;
}

function run(t: Tracer, x: Tensor, spec: SelfAttentionSpec, sources: AttentionSources): Tensor {
  const ranks = t.settings.tensorParallel;
  const heads = localHeads(spec.heads, ranks);
  const litgpt = t.settings.code === 'litgpt' && !spec.norm && !spec.gate && !sources.source;
  const keyValueHeads = litgpt ? heads : localHeads(spec.keyValueHeads, ranks);
  const projected = litgpt ? litgptHeads(t, x, spec) : project(t, x, spec, sources.source);
  const v = t.hold(projected.v);
  if (projected.gate) t.hold(projected.gate);
  const late = spec.norm?.afterRotary === true;
  const q = t.hold(finish(t, projected.q, spec, 0, late));
  const k = t.hold(finish(t, projected.k, spec, 1, late));
  let context = attend(t, {
    name: `${spec.module}.attention`,
    batch: x.shape[0],
    bias: sources.positionBias,
    q,
    k,
    v,
    heads,
    keyValueHeads,
    headDim: spec.headDim,
    causal: spec.causal !== false,
    window: spec.window,
    softcap: spec.softcap,
    dropout: spec.dropout,
    fp32Softmax: spec.fp32Softmax,
    fp32Scores: spec.fp32Scores,
    sinks: spec.sinks
      ? t.weight({ name: `${spec.module}.sinks`, shape: [spec.heads], local: [heads] })
      : undefined,
    kernels: spec.kernels,
    grouping: spec.grouping,
    fusedScores: spec.fusedScores,
    scaledInPlace: spec.scaledInPlace,
    packedHeads: joins(t, spec),
  });
  if (spec.causal !== false && !sources.source) context = withAdapterPrompt(t, q, context, spec);
  if (projected.gate) {
    const gate = t.keepOutput(projected.gate, `${spec.module}.gate`);
    context = t.mul(context, gate, `${spec.module}.gated`);
  }
  const out = projectedBack(t, context, spec);
  return t.dropout(out, spec.outputDropout ?? 0, `${spec.module}.dropout`);
}

function projectedBack(t: Tracer, context: Tensor, spec: SelfAttentionSpec): Tensor {
  const name = `${spec.module}.${spec.output}`;
  const output = { name, out: spec.hidden, bias: spec.bias?.output, split: 'row' as const };
  if (!fusesLora(t, 'output', [output])) return t.linear(context, output);
  const [out = context] = fusedLoraLinears(t, context, [output], `${name}.lora`);
  return out;
}

/** Whether rotated queries come from a concatenation, which lays them out head by head. */
function joins(t: Tracer, spec: SelfAttentionSpec): boolean {
  const { code } = t.settings;
  const share = spec.rotary ?? 1;
  return (
    (code === undefined || code === 'transformers') &&
    ((share > 0 && share < 1) || spec.joinsRotated === true)
  );
}

function project(t: Tracer, x: Tensor, spec: SelfAttentionSpec, source: Tensor | undefined): Heads {
  return typeof spec.projections === 'string'
    ? fusedProjection(t, x, spec, spec.projections)
    : separateProjections(t, x, spec, spec.projections, source ?? x);
}

/** Rotation of a query (0) or key (1), and its norm where that comes after. */
function finish(t: Tracer, x: Tensor, spec: SelfAttentionSpec, which: 0 | 1, late: boolean): Tensor {
  const share = spec.rotary ?? 1;
  const name = `${spec.module}.rotary_${which === 0 ? 'q' : 'k'}`;
  const rotated = share > 0 ? rotary(t, x, name, share) : x;
  return late ? normed(t, rotated, spec, which) : rotated;
}

function separateProjections(
  t: Tracer,
  x: Tensor,
  spec: SelfAttentionSpec,
  names: { readonly q: string; readonly k: string; readonly v: string },
  source: Tensor,
): Heads {
  const ranks = t.settings.tensorParallel;
  const early = spec.norm && !spec.norm.afterRotary;
  const project = (from: Tensor, name: string, count: number, bias: boolean | undefined) => {
    const out = t.linear(from, {
      name: `${spec.module}.${name}`,
      out: count * spec.headDim,
      bias,
      split: 'column',
      local: localHeads(count, ranks) * spec.headDim,
    });
    return spec.clip ? t.keepInput(out, `${spec.module}.clamp`) : out;
  };
  const { keyValueHeads } = spec;
  const qkv = spec.bias?.qkv;
  const together = [
    { name: `${spec.module}.${names.q}`, out: spec.heads * spec.headDim, bias: qkv },
    { name: `${spec.module}.${names.k}`, out: keyValueHeads * spec.headDim, bias: spec.bias?.key ?? qkv },
    { name: `${spec.module}.${names.v}`, out: keyValueHeads * spec.headDim, bias: qkv },
  ];
  if (source === x && !spec.gate && !spec.clip && fusesLora(t, 'qkv', together)) {
    const [q = x, k = x, v = x] = fusedLoraLinears(t, x, together, `${spec.module}.lora_qkv`);
    return early ? { q: normed(t, q, spec, 0), k: normed(t, k, spec, 1), v } : { q, k, v };
  }
  let q = project(x, names.q, spec.gate === true ? 2 * spec.heads : spec.heads, qkv);
  let gate: Tensor | undefined;
  if (spec.gate === true) {
    const width = localHeads(spec.heads, ranks) * spec.headDim;
    const [query = q, rest] = t.split(q, [width, width]);
    q = query;
    // The heads' halves are interleaved, so the gate is made contiguous.
    gate = rest && t.copy(rest, rest.shape, `${spec.module}.gate_reshape`);
  }
  if (early) q = normed(t, q, spec, 0);
  let k = project(source, names.k, keyValueHeads, spec.bias?.key ?? qkv);
  if (early) k = normed(t, k, spec, 1);
  const v = project(source, names.v, keyValueHeads, qkv);
  if (typeof spec.gate === 'string') gate = project(x, spec.gate, spec.heads, false);
  return { q, k, v, gate };
}

function fusedProjection(t: Tracer, x: Tensor, spec: SelfAttentionSpec, name: string): Heads {
  const ranks = t.settings.tensorParallel;
  const { headDim, keyValueHeads } = spec;
  const queries = localHeads(spec.heads, ranks) * headDim;
  const keys = localHeads(keyValueHeads, ranks) * headDim;
  let joint = t.linear(x, {
    name: `${spec.module}.${name}`,
    out: (spec.heads + 2 * keyValueHeads) * headDim,
    bias: spec.bias?.qkv,
    split: 'column',
    local: queries + 2 * keys,
  });
  if (spec.clip) joint = t.keepInput(joint, `${spec.module}.clamp`);
  const [q = joint, k = joint, view = joint] = t.split(joint, [queries, keys, keys]);
  const v = standsAlone(t, spec) ? t.copy(view, view.shape, `${spec.module}.value_contiguous`) : view;
  if (!spec.norm || spec.norm.afterRotary) return { q, k, v };
  return { q: normed(t, q, spec, 0), k: normed(t, k, spec, 1), v };
}

/**
 * Transformer Engine wants values laid out as keys are: beside rotated keys, which are tensors of their own, they are made
 * contiguous, and the joint projection goes (`dot_product_attention/utils.py`, `get_qkv_layout`).
 */
function standsAlone({ settings }: Tracer, spec: SelfAttentionSpec): boolean {
  return settings.code === 'megatron' && settings.attention !== 'eager' && (spec.rotary ?? 1) > 0;
}

function normed(t: Tracer, x: Tensor, spec: SelfAttentionSpec, which: 0 | 1): Tensor {
  const { norm, headDim } = spec;
  if (!norm) return x;
  const name = `${spec.module}.${(norm.names ?? ['q_norm', 'k_norm'])[which]}`;
  const style = norm.style ?? 'llama';
  if (norm.kind === 'full') return rmsNorm(t, x, { name, style });
  const count = (x.shape.at(-1) ?? 0) / headDim;
  const heads = t.view(x, [...x.shape.slice(0, -1), count, headDim]);
  switch (norm.kind) {
    case 'head':
      return t.view(rmsNorm(t, heads, { name, style }), x.shape);
    case 'l2':
      return t.view(rmsNorm(t, heads, { name, style, gain: false }), x.shape);
    case 'layer':
      return t.view(layerNorm(t, heads, { name }), x.shape);
    case 'centred':
      return t.view(centredNorm(name, [count, headDim])(t, heads), x.shape);
  }
}
