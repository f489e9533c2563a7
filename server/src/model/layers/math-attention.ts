import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface MathAttentionSpec {
  readonly name: string;
  readonly batch: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly valueHeadDim: number;
  /** Keys and values of fewer heads are repeated first (`enable_gqa`); else the products broadcast them. */
  readonly repeats: boolean;
}

/**
 * SDPA's math kernel (`native/transformers/attention.cpp`, `_scaled_dot_product_attention_math`), where no fused kernel takes
 * the inputs: everything in fp32, all scores kept. Its C++ variables live until it returns. Queries, keys and values
 * `[b, s, heads x headDim]`, the result `[b, s, heads x valueHeadDim]`.
 */
export function mathAttention(t: Tracer, q: Tensor, k: Tensor, v: Tensor, spec: MathAttentionSpec): Tensor {
  const { name, batch, heads } = spec;
  const queries = q.elements / (batch * heads * spec.headDim);
  const keys = k.elements / (batch * spec.keyValueHeads * spec.headDim);
  const grouped = heads !== spec.keyValueHeads;
  const all = (dim: number) => [batch, keys, heads * dim];
  return t.scope(() => {
    const wide = (x: Tensor, part: string) => t.hold(t.cast(x, 'fp32', `${name}.${part}_float`));
    const queryWide = wide(q, 'q');
    let key = wide(k, 'k');
    let value = wide(v, 'v');
    const query = t.hold(t.scale(queryWide, `${name}.q_scaling`));
    if (grouped && spec.repeats) {
      key = t.hold(t.copy(key, all(spec.headDim), `${name}.repeat_k`));
      value = t.hold(t.copy(value, all(spec.valueHeadDim), `${name}.repeat_v`));
    }
    key = t.scale(key, `${name}.k_scaling`);
    // `matmul` folds batch and heads: what is broadcast or laid out token by token is copied.
    const broadcast = grouped && !spec.repeats;
    const flatQuery = batch > 1 || broadcast ? t.copy(query, query.shape, `${name}.q`) : query;
    if (broadcast) key = t.copy(key, all(spec.headDim), `${name}.k`);
    const scores = t.matmul(flatQuery, key, [batch, heads, queries, keys], spec.headDim, `${name}.scores`);
    // `_safe_softmax` makes a mask of the rows without keys and selects into a new tensor: a byte and an fp32 each.
    const safe = { forwardScratch: 5 * scores.elements };
    const probabilities = t.keepOutput(scores, `${name}.softmax`, scores.shape, safe);
    if (q.dtype !== 'fp32') t.hold(t.cast(probabilities, q.dtype, `${name}.attention_weights`));
    const shape = all(spec.valueHeadDim);
    if (broadcast || (batch > 1 && !grouped)) value = t.copy(value, shape, `${name}.v`);
    const out = [batch, heads, queries, spec.valueHeadDim];
    const context = t.matmul(probabilities, value, out, keys, `${name}.values`);
    return t.cast(context, q.dtype, `${name}.to`);
  });
}
