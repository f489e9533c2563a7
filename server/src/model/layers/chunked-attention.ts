import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import type { Block } from './block';

/** Local attention with relative positions, chunk by chunk, as Gemma's Conformers have it (appendix B of arXiv:1901.02860). */
export interface ChunkedAttentionSpec {
  readonly heads: number;
  /** Frames of a chunk, and of what lies before and behind it in what the chunk sees. */
  readonly chunk: number;
  readonly before: number;
  readonly behind: number;
  /** Path of the linear layer that projects positions. */
  readonly positions: string;
  /** Path of the vector that scales each dimension of a head. */
  readonly scale: string;
  /** Gemma 4 computes in fp32, scales keys and pads all; Gemma 3n computes in the type of its input. */
  readonly wide: boolean;
}

/** Shapes of one call: samples, frames, elements of a frame, chunks, and frames that a chunk sees. */
interface Sizes {
  readonly batch: number;
  readonly frames: number;
  readonly hidden: number;
  readonly chunks: number;
  readonly seen: number;
}

function sizesOf(x: Tensor, { chunk, before, behind }: ChunkedAttentionSpec): Sizes {
  const [batch = 1, frames = 1, hidden = 1] = x.shape;
  return { batch, frames, hidden, chunks: Math.ceil(frames / chunk), seen: chunk + before + behind };
}

/** A contiguous copy, whose gradient is that of the original. */
const contiguous = (t: Tracer, x: Tensor, shape: readonly number[], name: string): Tensor =>
  t.concat([x], shape, name);

/** What a product of two activations reads, in the type that autocast gives it. */
const operand = (t: Tracer, x: Tensor): Tensor =>
  t.settings.autocast ? t.cast(x, t.settings.computeDtype, 'operand.cast') : x;

/** Overlapping windows of all frames, `[b, chunks, seen, h]`: padded (in Gemma 3n joined with zeros), unfolded, and copied. */
function contextOf(t: Tracer, x: Tensor, spec: ChunkedAttentionSpec, sizes: Sizes, name: string): Tensor {
  const { batch, frames, hidden, chunks, seen } = sizes;
  const padded = [batch, frames + spec.before + spec.behind + spec.chunk - 1, hidden];
  const wider = spec.wide ? t.copy(x, padded, `${name}.pad`) : contiguous(t, x, padded, `${name}.pad`);
  const windows = [batch, chunks, seen, hidden];
  return contiguous(t, t.slice(wider, windows), windows, `${name}.context`);
}

/** Whole chunks of all frames, `[b, chunks, chunk, h]`. */
function chunksOf(t: Tracer, x: Tensor, spec: ChunkedAttentionSpec, sizes: Sizes): Tensor {
  const { batch, frames, hidden, chunks } = sizes;
  const whole = [batch, chunks * spec.chunk, hidden];
  const shape = [batch, chunks, spec.chunk, hidden];
  if (spec.wide) return t.view(t.copy(x, whole, 'q.pad'), shape);
  return t.view(chunks * spec.chunk === frames ? x : contiguous(t, x, whole, 'q.pad'), shape);
}

/** What queries make of relative positions, `[b, heads, chunks, chunk, seen]`: padded by one, and shifted as a view. */
function positionScores(t: Tracer, queries: Tensor, spec: ChunkedAttentionSpec, sizes: Sizes): Tensor {
  const { batch, hidden, chunks, seen } = sizes;
  const { heads, chunk } = spec;
  const span = spec.before + spec.behind + 1;
  const dtype = spec.wide ? inputDtype(t.settings) : queries.dtype;
  const table = t.input([1, span, hidden], dtype, false, 'position_embeddings');
  const projected = t.linear(table, { name: spec.positions, out: hidden });
  const relative = t.hold(t.cast(projected, queries.dtype, 'positions.float'));
  const repeated = t.copy(operand(t, relative), [batch, heads, hidden / heads, span], 'positions.expand');
  const flat = t.hold(contiguous(t, queries, [batch, heads, chunks * chunk, hidden / heads], 'queries_flat'));
  const scores = t.matmul(
    operand(t, flat),
    repeated,
    [batch, heads, chunks * chunk, span],
    hidden / heads,
    'matrix_bd',
  );
  const padded = t.copy(scores, [batch, heads, chunks, chunk, seen + 1], 'rel_shift.pad');
  return t.hold(t.slice(padded, [batch, heads, chunks, chunk, seen]));
}

/** Scores of all pairs that a chunk sees, capped, masked and as probabilities. */
function probabilities(t: Tracer, queries: Tensor, keys: Tensor, spec: ChunkedAttentionSpec, sizes: Sizes) {
  const { batch, hidden, chunks, seen } = sizes;
  const { heads, chunk } = spec;
  const head = hidden / heads;
  const shape = [batch, heads, chunks, chunk, seen];
  const asked = contiguous(t, operand(t, queries), [batch, heads, chunks, chunk, head], 'asked');
  const offered = contiguous(t, operand(t, keys), [batch, heads, chunks, head, seen], 'offered');
  const content = t.hold(t.matmul(asked, offered, shape, head, 'matrix_ac'));
  const sum = t.add(content, positionScores(t, queries, spec, sizes), 'attn_weights');
  const tanh = t.keepOutput(t.scale(sum, 'softcap.divide'), 'softcap.tanh');
  const capped = t.scale(tanh, 'softcap.multiply');
  const masked = t.fused({
    name: 'masked_fill',
    inputs: [capped],
    outputs: [{ shape, dtype: capped.dtype }],
    savesBytes: batch * chunks * chunk * seen,
    fusible: 'pointwise',
  });
  const soft = t.softmax(t.cast(masked, 'fp32', 'softmax.float'), 'softmax');
  return t.hold(t.cast(soft, keys.dtype, 'softmax.to'));
}

/**
 * From projected queries, keys and values, `[b, frames, h]`, to what is attended to, of the same shape and type. `after`: what its function
 * does with that before it returns.
 */
export function chunkedAttention(
  t: Tracer,
  projected: { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor },
  spec: ChunkedAttentionSpec,
  after: Block = (_, x) => x,
): Tensor {
  return t.scope(() => {
    const { q, k, v } = projected;
    const sizes = sizesOf(q, spec);
    const { batch, frames, hidden, chunks, seen } = sizes;
    const { heads, chunk, wide } = spec;
    const head = hidden / heads;
    if (!wide) t.hold([k, v]);
    const scale = t.weight({ name: spec.scale, shape: [head] });
    const scaled = t.mulWeight(t.scale(q, 'q_scale'), scale, 'q.per_dim_scale');
    const queries = t.hold(chunksOf(t, wide ? scaled : t.hold(scaled), spec, sizes));
    const keys = t.hold(contextOf(t, wide ? t.scale(k, 'k_scale') : k, spec, sizes, 'k'));
    const values = t.hold(contextOf(t, v, spec, sizes, 'v'));
    const weights = probabilities(t, queries, keys, spec, sizes);
    const shape = [batch, chunks, heads, chunk, seen];
    const read = wide ? weights : t.hold(contiguous(t, weights, shape, 'probabilities'));
    const offered = t.hold(contiguous(t, operand(t, values), [batch, chunks, heads, seen, head], 'values'));
    const context = t.matmul(operand(t, read), offered, [batch, chunks, heads, chunk, head], seen, 'context');
    const joined = contiguous(t, context, [batch, chunks * chunk, hidden], 'context.reshape');
    if (chunks * chunk === frames) return after(t, joined);
    const cut = t.slice(joined, [batch, frames, hidden]);
    return after(t, batch > 1 ? contiguous(t, cut, cut.shape, 'context.contiguous') : cut);
  });
}
