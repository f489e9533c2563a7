import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface ConnectionSpec {
  readonly name: string;
  /** Residual streams that run side by side. */
  readonly streams: number;
  /** Rounds that make the mixing matrix doubly stochastic (Sinkhorn-Knopp). */
  readonly iterations: number;
}

/** Streams side by side in fp32, over their root mean square. `[b, s, n, d]` to `[b, s, n x d]`. */
function normedStreams(t: Tracer, x: Tensor, name: string): Tensor {
  const [batch = 1, sequence = 1, count = 1, width = 1] = x.shape;
  return t.scope(() => {
    const wide = t.hold(t.cast(t.view(x, [batch, sequence, count * width]), 'fp32', `${name}.float`));
    const square = t.power(wide, `${name}.square`);
    const variance = t.reduce(square, [batch, sequence, 1], `${name}.mean`);
    const root = t.keepOutput(t.shift(variance, `${name}.eps`), `${name}.rsqrt`);
    return t.mul(wide, root, `${name}.norm`);
  });
}

/** The streams' sum, each times its weight. `weights`: `[b, s, n, 1]`; `[b, s, n, d]` to `[b, s, d]`. */
function weightedSum(t: Tracer, streams: Tensor, weights: Tensor, name: string): Tensor {
  const [batch = 1, sequence = 1, , width = 1] = streams.shape;
  const product = t.mul(weights, streams, `${name}.collapse`);
  return t.cast(t.reduce(product, [batch, sequence, width], `${name}.sum`), streams.dtype, `${name}.to`);
}

/**
 * Manifold-constrained hyper-connections (`DeepseekV4HyperConnection`): the streams are collapsed into the branch's input, its
 * result is spread over them, and they are mixed by a matrix that is made doubly stochastic by as many rounds as stated, each
 * of which keeps the matrix and its sums. `[b, s, n, d]` in and out.
 */
export function hyperConnection(
  t: Tracer,
  streams: Tensor,
  spec: ConnectionSpec,
  branch: (x: Tensor) => Tensor,
): Tensor {
  const [batch = 1, sequence = 1, n = 1, width = 1] = streams.shape;
  const { name } = spec;
  const tokens = batch * sequence;
  const coefficients = (2 + n) * n;
  return t.scope(() => {
    t.hold(streams);
    const fn = t.weight({ name: `${name}.fn`, shape: [coefficients, n * width] });
    const base = t.weight({ name: `${name}.base`, shape: [coefficients] });
    const scale = t.weight({ name: `${name}.scale`, shape: [3] });
    const normed = normedStreams(t, streams, name);
    const scores = t.cast(t.linearWith(normed, fn, { name, out: coefficients }), 'fp32', `${name}.scores`);
    const rounds = 2 * spec.iterations - 1;
    const [pre = scores, post = scores, comb = scores] = t.custom({
      name: `${name}.sinkhorn`,
      inputs: [scores],
      outputs: [
        { shape: [batch, sequence, n, 1], dtype: 'fp32' },
        { shape: [batch, sequence, n, 1], dtype: 'fp32' },
        { shape: [batch, sequence, n, n], dtype: 'fp32' },
      ],
      savesInputs: [scores],
      savesOutputs: [0, 1, 2],
      savesBytes: tokens * rounds * (n * n + n) * ELEMENT_BYTES.fp32,
      weights: [base, scale],
    });
    t.hold(post);
    t.hold(comb);
    const out = branch(t.hold(weightedSum(t, streams, pre, name)));
    const share = t.cast(post, streams.dtype, `${name}.post`);
    const spread = t.fused({
      name: `${name}.spread`,
      inputs: [share, out],
      outputs: [{ shape: streams.shape, dtype: streams.dtype }],
      savesInputs: [share, out],
      backwardScratch: streams.elements * ELEMENT_BYTES[streams.dtype],
    });
    t.hold(spread);
    const mixing = t.cast(comb, streams.dtype, `${name}.comb`);
    return t.add(spread, t.matmul(mixing, streams, streams.shape, n, `${name}.mix`), `${name}.add`);
  });
}

/** The streams as one behind the last layer (`DeepseekV4HyperHead`). `[b, s, n, d]` to `[b, s, d]`. */
export function collapsedStreams(
  t: Tracer,
  streams: Tensor,
  { name, streams: n }: Pick<ConnectionSpec, 'name' | 'streams'>,
): Tensor {
  const [batch = 1, sequence = 1, , width = 1] = streams.shape;
  return t.scope(() => {
    t.hold(streams);
    const fn = t.weight({ name: `${name}.hc_fn`, shape: [n, n * width] });
    const base = t.weight({ name: `${name}.hc_base`, shape: [n] });
    const scale = t.weight({ name: `${name}.hc_scale`, shape: [1] });
    const scores = t.linearWith(normedStreams(t, streams, name), fn, { name, out: n });
    const weights = t.fused({
      name: `${name}.sigmoid`,
      inputs: [scores],
      outputs: [{ shape: [batch, sequence, n, 1], dtype: 'fp32' }],
      savesInputs: [scores],
      savesOutputs: [0],
      weights: [base, scale],
    });
    return weightedSum(t, streams, weights, name);
  });
}
