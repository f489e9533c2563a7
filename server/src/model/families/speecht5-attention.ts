import { applyActivation } from '../layers/activation';
import { layerNormed } from '../layers/block';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** Sizes of a layer of either side, by the names of the configuration. */
export interface LayerSizes {
  readonly hidden: number;
  readonly heads: number;
  readonly inner: number;
  readonly activation: string;
  readonly dropout: Readonly<Record<'hidden' | 'activation' | 'attention', number>>;
}

interface Attending {
  readonly module: string;
  /** `[b, 1, n, m]`: the class makes one whatever the batch is. */
  readonly mask: Tensor;
  /** Keys and values come from here, `[b, m, h]`; default the input. */
  readonly source?: Tensor;
  /** A vector for each pair of positions, `[n, n, headDim]`. */
  readonly positions?: Tensor;
}

/** What attention gives, `[b, n, h]`, and how much of each token it took, `[b, heads, n, m]`. */
interface Attended {
  readonly out: Tensor;
  readonly weights: Tensor;
}

/** What autocast makes of a factor of a product. */
const lowered = (t: Tracer, x: Tensor, name: string): Tensor =>
  t.settings.autocast ? t.cast(x, t.settings.computeDtype, `${name}.cast`) : x;

/**
 * Products of queries and keys, and with the vectors of their distance, written into one tensor; rows of a batch are copied head by head.
 * From `[b, n, h]` and `[b, m, h]` to `[b, heads, n, m]`.
 */
function scoresOf(t: Tracer, q: Tensor, k: Tensor, heads: number, positions?: Tensor): Tensor {
  const [batch = 1, queries = 1, hidden = 1] = q.shape;
  const keys = k.shape[1] ?? 1;
  const shape = [batch, heads, queries, keys];
  const dim = hidden / heads;
  if (!positions) return t.matmul(q, k, shape, dim, 'scores');
  const distances = lowered(t, positions, 'positions');
  const relative = t.hold(t.matmul(q, distances, shape, dim, 'positions.scores'));
  const flops = 2 * batch * heads * queries * keys * dim;
  return t.fused({
    name: 'scores',
    inputs: [q, k, relative],
    outputs: [{ shape, dtype: q.dtype }],
    // `attn_weights += rel_pos_bias`: its gradient is that of the sum.
    gradRules: ['new', 'new', 'alias'],
    savesInputs: [q, k],
    flops,
    backwardFlops: 2 * flops,
    expensive: true,
  });
}

/** `SpeechT5Attention`: written out, whatever kernels there are. */
function attention(t: Tracer, x: Tensor, sizes: LayerSizes, spec: Attending): Attended {
  const { hidden, heads, dropout } = sizes;
  const { module } = spec;
  return t.scope(() => {
    const [batch = 1, queries = 1] = t.hold(x).shape;
    const source = spec.source ?? x;
    const project = (from: Tensor, part: string) =>
      t.linear(from, { name: `${module}.${part}_proj`, out: hidden, bias: true });
    const rows = (y: Tensor, part: string) =>
      t.hold(batch > 1 ? t.copy(y, y.shape, `${module}.${part}.reshape`) : y);
    const scaled = t.scale(project(x, 'q'), `${module}.scaling`);
    const [key, value] = [project(source, 'k'), project(source, 'v')];
    const [q, k, v] = [rows(scaled, 'q'), rows(key, 'k'), rows(value, 'v')];
    const scores = scoresOf(t, q, k, heads, spec.positions);
    const masked = t.add(scores, spec.mask, `${module}.mask`);
    const wide = t.settings.autocast ? t.cast(masked, 'fp32', `${module}.float`) : masked;
    const weights = t.hold(t.softmax(wide, `${module}.softmax`));
    const dropped = t.hold(t.dropout(weights, dropout.attention, `${module}.dropout`));
    const context = t.matmul(
      lowered(t, dropped, `${module}.probabilities`),
      v,
      [batch, queries, hidden],
      source.shape[1] ?? 1,
      `${module}.values`,
    );
    const joined = t.copy(context, context.shape, `${module}.contiguous`);
    return { out: t.linear(joined, { name: `${module}.out_proj`, out: hidden, bias: true }), weights };
  });
}

/** A norm behind a residual sum around attention; its weights keep their name until the layer returns. `[b, n, h]` in and out. */
export function attendedSum(
  t: Tracer,
  x: Tensor,
  sizes: LayerSizes,
  { norm, ...spec }: Attending & { readonly norm: string },
): Attended {
  const { out, weights } = attention(t, x, sizes, spec);
  t.holdInLayer(weights);
  const sum = t.add(x, t.dropout(out, sizes.dropout.hidden, 'dropout'), 'residual');
  return { out: layerNormed(norm)(t, sum), weights };
}

/** `SpeechT5FeedForward` in a residual sum, and the norm behind it. `[b, n, h]` in and out. */
export function fedSum(t: Tracer, x: Tensor, { hidden, inner, activation, dropout }: LayerSizes): Tensor {
  return t.scope(() => {
    t.hold(x);
    const up = t.linear(x, { name: 'feed_forward.intermediate_dense', out: inner, bias: true });
    const active = t.dropout(applyActivation(t, up, activation), dropout.activation, 'intermediate_dropout');
    const down = t.linear(active, { name: 'feed_forward.output_dense', out: hidden, bias: true });
    const sum = t.add(x, t.dropout(down, dropout.hidden, 'output_dropout'), 'residual');
    return layerNormed('final_layer_norm')(t, sum);
  });
}
