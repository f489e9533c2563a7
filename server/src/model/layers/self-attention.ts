import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { attend } from './attention';
import { type Block, centredNorm } from './block';
import { fusedLoraLinears, fusesLora } from './fused-lora';
import { litgptHeads, withAdapterPrompt } from './litgpt-attention';
import { layerNorm, rmsNorm } from './norm';
import { rotary } from './rotary';
import type { Heads, SelfAttentionSpec } from './self-attention-spec';

export const LLAMA_PROJECTIONS = { q: 'q_proj', k: 'k_proj', v: 'v_proj' };

/** Self-attention from `[b, s, h]` to `[b, s, hidden]`: projections, norms, rotary positions, kernel, output. */
export function selfAttention(spec: SelfAttentionSpec): Block {
  return (t, x) => attentionOver(t, x, spec);
}

/** What attention reads beside its input. */
interface AttentionSources {
  /** Keys and values come from here: the encoder's result, in cross-attention. */
  readonly source?: Tensor;
  /** Added to the scores, `[1, heads, queries, keys]`. */
  readonly positionBias?: Tensor;
  /** Finished keys and values of another layer, in the place of own ones (Gemma 4, Gemma 3n). */
  readonly shared?: KeysAndValues;
  /** Takes the finished keys and values, for layers that share them. */
  readonly keep?: (own: KeysAndValues) => void;
}

/** Keys, rotated, and values as the kernel reads them, `[b, s, heads x headDim]`. */
interface KeysAndValues {
  readonly k: Tensor;
  readonly v: Tensor;
}

/** `selfAttention` with keys and values from another sequence, or with a position bias. `[b, s, h]` in and out. */
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

function run(t: Tracer, x: Tensor, spec: SelfAttentionSpec, sources: AttentionSources): Tensor {
  const ranks = t.settings.tensorParallel;
  const heads = localHeads(spec.heads, ranks);
  const joined = t.settings.behaviours.joinsProjections && !spec.norm && !spec.gate && !sources.source;
  const keyValueHeads = joined ? heads : localHeads(spec.keyValueHeads, ranks);
  const { shared } = sources;
  const projected = joined ? litgptHeads(t, x, spec) : project(t, x, spec, sources);
  const own = spec.scaledValues ? t.scale(projected.v, `${spec.module}.value_scale`) : projected.v;
  const v = t.hold(own);
  if (projected.gate) t.hold(projected.gate);
  const late = spec.norm?.afterRotary === true;
  const q = t.hold(finish(t, projected.q, spec, 0, late));
  const k = t.hold(shared ? shared.k : finish(t, projected.k, spec, 1, late));
  sources.keep?.({ k, v });
  const mask = spec.mask && t.hold(spec.mask(t, x));
  let context = attend(t, {
    name: `${spec.module}.attention`,
    batch: x.shape[0],
    bias: mask ?? sources.positionBias,
    q,
    k,
    v,
    heads,
    keyValueHeads,
    headDim: spec.headDim,
    valueHeadDim: spec.valueDim,
    causal: spec.causal !== false,
    cached: spec.cached,
    window: spec.window,
    softcap: spec.softcap,
    dropout: spec.dropout,
    fp32Softmax: spec.fp32Softmax,
    fp32Scores: spec.fp32Scores,
    sinks: spec.sinks
      ? t.weight({ name: `${spec.module}.sinks`, shape: [spec.heads], local: [heads] })
      : undefined,
    shiftsScores: spec.shiftsScores,
    kernels: spec.kernels,
    grouping: spec.grouping,
    fusedScores: spec.fusedScores,
    scaledInPlace: spec.scaledInPlace,
    returnsWeights: spec.returnsWeights,
    boundsScores: spec.boundsScores,
    packedHeads: spec.packedHeads === true || joins(t, spec),
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
  const share = spec.rotary ?? 1;
  return (
    t.settings.behaviours.concatenatesRotated && ((share > 0 && share < 1) || spec.joinsRotated === true)
  );
}

function project(t: Tracer, x: Tensor, spec: SelfAttentionSpec, { source, shared }: AttentionSources): Heads {
  return typeof spec.projections === 'string'
    ? fusedProjection(t, x, spec, spec.projections)
    : separateProjections(t, x, spec, spec.projections, source ?? x, shared);
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
  shared: KeysAndValues | undefined,
): Heads {
  const ranks = t.settings.tensorParallel;
  const early = spec.norm && !spec.norm.afterRotary;
  const project = (
    from: Tensor,
    name: string,
    count: number,
    bias: boolean | undefined,
    width = spec.headDim,
  ) => {
    const out = t.linear(from, {
      name: `${spec.module}.${name}`,
      out: count * width,
      bias,
      split: 'column',
      local: localHeads(count, ranks) * width,
    });
    return spec.clip ? t.keepInput(out, `${spec.module}.clamp`) : out;
  };
  const summed = (out: Tensor, which: 'q' | 'k' | 'v') =>
    spec.added ? t.add(out, spec.added(t, x, which), `${spec.module}.added_${which}`) : out;
  const { keyValueHeads } = spec;
  const qkv = spec.bias?.qkv;
  const together = [
    { name: `${spec.module}.${names.q}`, out: spec.heads * spec.headDim, bias: qkv },
    { name: `${spec.module}.${names.k}`, out: keyValueHeads * spec.headDim, bias: spec.bias?.key ?? qkv },
    { name: `${spec.module}.${names.v}`, out: keyValueHeads * spec.headDim, bias: qkv },
  ];
  const plain = !spec.keysAsValues && !spec.normsValues && !shared && !spec.valueDim && !spec.added;
  if (plain && source === x && !spec.gate && !spec.clip && fusesLora(t, 'qkv', together)) {
    const [q = x, k = x, v = x] = fusedLoraLinears(t, x, together, `${spec.module}.lora_qkv`);
    return early ? { q: normed(t, q, spec, 0), k: normed(t, k, spec, 1), v } : { q, k, v };
  }
  let q = summed(project(x, names.q, spec.gate === true ? 2 * spec.heads : spec.heads, qkv), 'q');
  let gate: Tensor | undefined;
  if (spec.gate === true) {
    const width = localHeads(spec.heads, ranks) * spec.headDim;
    const [query = q, rest] = t.split(q, [width, width]);
    q = query;
    // The heads' halves are interleaved, so the gate is made contiguous.
    gate = rest && t.copy(rest, rest.shape, `${spec.module}.gate_reshape`);
  }
  if (early) q = normed(t, q, spec, 0);
  if (shared) return { q, ...shared };
  let k = summed(project(source, names.k, keyValueHeads, spec.bias?.key ?? qkv), 'k');
  const keys = k;
  if (early) k = normed(t, k, spec, 1);
  const values = spec.keysAsValues
    ? keys
    : summed(project(source, names.v, keyValueHeads, qkv, spec.valueDim), 'v');
  const v = spec.normsValues ? plainlyNormed(t, values, spec) : values;
  if (typeof spec.gate === 'string') {
    gate = project(x, spec.gate, spec.heads, false, spec.gatesHeads ? 1 : spec.headDim);
  }
  return { q, k, v, gate };
}

/** Projections of keys and values, and the norm of keys, that a layer has and does not use. The input is `[b, s, h]`. */
export function registerKeysAndValues(t: Tracer, x: Tensor, spec: SelfAttentionSpec): void {
  const { projections: names, module, keyValueHeads, headDim, bias } = spec;
  if (typeof names === 'string') return;
  const local = localHeads(keyValueHeads, t.settings.tensorParallel) * headDim;
  const layer = { out: keyValueHeads * headDim, split: 'column' as const, local };
  t.registerWeightsOf((probe) => {
    const given = probe.input(x.shape, x.dtype, false, 'unread');
    const own = bias?.key ?? bias?.qkv;
    const keys = probe.linear(given, { name: `${module}.${names.k}`, bias: own, ...layer });
    normed(probe, keys, spec, 1);
    if (!spec.keysAsValues) probe.linear(given, { name: `${module}.${names.v}`, bias: bias?.qkv, ...layer });
  });
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
  return settings.behaviours.copiesValues && settings.attention !== 'eager' && (spec.rotary ?? 1) > 0;
}

/** Heads of values over their root mean square, without a gain. */
function plainlyNormed(t: Tracer, x: Tensor, { module, headDim, norm }: SelfAttentionSpec): Tensor {
  const heads = t.view(x, [...x.shape.slice(0, -1), (x.shape.at(-1) ?? 0) / headDim, headDim]);
  const style = norm?.style ?? 'llama';
  return t.view(rmsNorm(t, heads, { name: `${module}.v_norm`, style, gain: false }), x.shape);
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
    case 'l2': {
      const plain = t.view(rmsNorm(t, heads, { name, style, gain: false }), x.shape);
      return norm.scalesQueries && which === 0 ? t.scale(plain, `${name}.scale`) : plain;
    }
    case 'layer':
      return t.view(layerNorm(t, heads, { name }), x.shape);
    case 'centred':
      return t.view(centredNorm(name, [count, headDim])(t, heads), x.shape);
  }
}
