import { scaledAndShifted } from '../adapters';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { attentionFlops } from './attention';
import type { Heads, SelfAttentionSpec } from './self-attention-spec';

/** The names by which a run adapts the three parts of the one projection. */
const PARTS = ['q_proj', 'k_proj', 'v_proj'] as const;

/**
 * litgpt's attention up to the kernel (`model.py`, `CausalSelfAttention`): one projection for queries, keys and values. With
 * as many key heads as query heads the values stay a view of it, so that the kernel keeps all of it; with fewer, each of the
 * three is copied out, keys and values repeated for every query head. The rotation makes new tensors. From `[b, s, h]` to
 * `[b, s, heads x headDim]` for each of the three.
 */
export function litgptHeads(t: Tracer, x: Tensor, spec: SelfAttentionSpec): Heads {
  const ranks = t.settings.tensorParallel;
  const width = (heads: number) => (heads * spec.headDim) / ranks;
  const parts = [spec.heads, spec.keyValueHeads, spec.keyValueHeads];
  const joint = t.hold(mergedProjection(t, x, spec, parts));
  const [q = joint, k = joint, v = joint] = t.split(
    joint,
    parts.map((heads) => width(heads)),
  );
  if (spec.heads === spec.keyValueHeads) return { q, k, v };
  const whole = [...x.shape.slice(0, -1), width(spec.heads)];
  const name = spec.module;
  return {
    q: t.copy(q, whole, `${name}.reshape_q`),
    k: t.copy(k, whole, `${name}.repeat_k`),
    v: t.copy(v, whole, `${name}.repeat_v`),
  };
}

/**
 * `LoRAQKVLinear` (`lora.py`): one low-rank matrix A for all adapted parts, a grouped convolution for B, zeros where a
 * part is not adapted, everything in the type of the base.
 */
function mergedProjection(t: Tracer, x: Tensor, spec: SelfAttentionSpec, parts: readonly number[]): Tensor {
  const name = `${spec.module}.attn`;
  const out = parts.reduce((sum, heads) => sum + heads * spec.headDim, 0);
  return t.scope(() => {
    const base = t.hold(t.plainLinear(x, { name, out, bias: spec.bias?.qkv, split: 'column' }));
    const { adapter } = t.settings;
    if (adapter?.kind === 'llama-adapter-v2') return scaledAndShifted(t, base, name, out);
    const adapted = PARTS.map((part, i) =>
      adapter?.targets(`${spec.module}.${part}`, 'matrix') ? (parts[i] ?? 0) * spec.headDim : 0,
    ).filter((size) => size > 0);
    if (!adapter || adapted.length === 0) return base;
    const width = x.shape.at(-1) ?? 0;
    const low = adapter.rank * adapted.length;
    const wide = adapted.reduce((sum, size) => sum + size, 0);
    const a = t.adapterWeight(`${name}.lora_A.weight`, [low, width]);
    const b = t.adapterWeight(`${name}.lora_B.weight`, [wide, adapter.rank]);
    const dropped = t.dropout(x, adapter.dropout, `${name}.lora_dropout`, 'adapter');
    const afterA = t.hold(t.linearWith(dropped, a, { name: `${name}.lora_A`, out: low }));
    const afterB = t.hold(t.linearWith(afterA, b, { name: `${name}.lora_B`, out: wide }));
    const padded = wide === out ? afterB : t.hold(zeroPad(t, afterB, base.shape, `${name}.zero_pad`));
    const lora = t.hold(t.scale(padded, `${name}.lora_scaling`));
    return t.add(base, lora, `${name}.lora_add`);
  });
}

/** `index_copy_` into zeros: its derivative keeps the source for its shape (`derivatives.yaml`, `index_copy`). */
function zeroPad(t: Tracer, source: Tensor, shape: readonly number[], name: string): Tensor {
  return t.fused({
    name,
    inputs: [source],
    outputs: [{ shape, dtype: source.dtype }],
    savesInputs: [source],
  });
}

/**
 * LLaMA-Adapter (`adapter.py`, `CausalSelfAttention`): the layer's prompt runs through its own projection, and every query
 * attends to its keys and values too; what comes out is multiplied by a gate per head and added. The mask, which lets every
 * query see all of the prompt, makes SDPA take its memory-efficient kernel. `q`, `context` and the result are
 * `[b, s, heads x headDim]`.
 */
export function withAdapterPrompt(t: Tracer, q: Tensor, context: Tensor, spec: SelfAttentionSpec): Tensor {
  const { adapter, batch, sequence, tensorParallel } = t.settings;
  const name = `${spec.module}.adapter`;
  const prompts = adapter?.kind === 'llama-adapter' || adapter?.kind === 'llama-adapter-v2';
  if (!prompts || !adapter.targets(`${spec.module}.adapter_wte`, 'matrix')) return context;
  const tokens = adapter.virtualTokens ?? 10;
  const heads = spec.heads / tensorParallel;
  const width = heads * spec.headDim;
  const table = t.adapterWeight(`${spec.module}.adapter_wte.weight`, [tokens, spec.hidden]);
  const keysAndValues = t.fused({
    name: `${name}.projection`,
    inputs: [],
    outputs: [{ shape: [1, tokens, 2 * width], dtype: q.dtype }],
    weights: [table],
    flops: 2 * tokens * spec.hidden * (spec.heads + 2 * spec.keyValueHeads) * spec.headDim,
    backwardFlops: 2 * tokens * spec.hidden * (spec.heads + 2 * spec.keyValueHeads) * spec.headDim,
  });
  const flops = attentionFlops(batch, heads, sequence, tokens, 2 * spec.headDim, false);
  const attended = t.fused({
    name: `${name}.attention`,
    inputs: [q, keysAndValues],
    outputs: [{ shape: context.shape, dtype: context.dtype }],
    savesInputs: [q, keysAndValues],
    savesOutputs: [0],
    savesBytes:
      batch * heads * sequence * ELEMENT_BYTES.fp32 + sequence * MASK_COLUMNS * ELEMENT_BYTES[q.dtype],
    flops,
    // The kernel computes the scores again: five matrix products against forward's two.
    backwardFlops: 2.5 * flops,
    expensive: true,
  });
  const gate = t.adapterWeight(`${spec.module}.gating_factor`, [1, 1, spec.heads, 1], [1, 1, heads, 1]);
  return t.add(context, t.mulWeight(attended, gate, `${name}.gate`), `${name}.add`);
}

/** The kernel pads its mask to a multiple of 16 columns (`attention.cpp`, `pad_bias`). */
const MASK_COLUMNS = 16;
