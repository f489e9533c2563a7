import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface ChunkScanSizes {
  readonly module: string;
  /** Of this rank. */
  readonly heads: number;
  readonly groups: number;
  readonly headDim: number;
  readonly state: number;
  readonly chunk: number;
}

/** What Mamba 2's scan reads, on this rank: `[batch, length, features]`. */
interface ChunkScanInputs {
  /** `heads * head width` features. */
  readonly hidden: Tensor;
  /** `groups * state` features each. */
  readonly write: Tensor;
  readonly read: Tensor;
  /** One feature per head. */
  readonly steps: Tensor;
}

/**
 * Mamba 2's scan in PyTorch's own operators (`modeling_mamba2.py`, `mamba2_chunk_scan`), which transformers runs without `mamba-ssm`: all
 * in fp32, states and scores of every chunk and head written out. Sums over products are matrix products since transformers 5.18, which keep
 * copies of both factors head by head; before, each was a product of all dimensions that was summed. `[batch, length, heads * head width]`,
 * fp32.
 */
export function chunkScanInTorch(t: Tracer, inputs: ChunkScanInputs, sizes: ChunkScanSizes): Tensor {
  return t.scope(() => {
    const { module, heads, groups, headDim, state, chunk } = sizes;
    const name = (part: string) => `${module}.${part}`;
    const [batch = 1, length = 1] = inputs.hidden.shape;
    const chunks = Math.ceil(length / chunk);
    const whole = chunks * chunk;
    const vector = (part: string) =>
      t.weight({
        name: name(part),
        shape: [heads * t.settings.tensorParallel],
        local: [heads],
      });
    const biased = t.addWeight(inputs.steps, vector('dt_bias'), name('dt'));
    const steps = t.keepInput(t.keepInput(biased, name('softplus')), name('clamp'));
    const given = (x: Tensor, part: string) => t.cast(x, 'fp32', name(`${part}_float`));
    const spread = (x: Tensor, part: string) => {
      const wide = given(x, part);
      return heads === groups ? wide : t.copy(wide, [batch, length, heads * state], name(`repeat_${part}`));
    };
    const wide = given(inputs.hidden, 'x');
    const writes = spread(inputs.write, 'B');
    const reads = spread(inputs.read, 'C');
    const padded = (x: Tensor, part: string, ...last: number[]) =>
      t.copy(x, [batch, chunks, chunk, ...last], name(`${part}_pad`));

    const residual = t.hold(t.mulWeight(padded(wide, 'x', heads * headDim), vector('D'), name('D_residual')));
    const perHead = t.hold(given(steps, 'dt'));
    const hidden = t.hold(padded(t.mul(wide, perHead, name('discretized')), 'hidden', heads * headDim));
    const again = given(steps, 'A_dt');
    const decays = t.fused({
      name: name('A'),
      inputs: [again],
      outputs: [{ shape: perHead.shape, dtype: 'fp32' }],
      savesInputs: [again],
      weights: [vector('A_log')],
    });
    const summed = t.hold(
      t.copy(padded(decays, 'A', heads), [batch, heads, chunks, chunk], name('A_cumsum')),
    );
    const B = t.hold(padded(writes, 'B', heads * state));
    const C = t.hold(padded(reads, 'C', heads * state));

    const square = [batch, chunks, heads, chunk, chunk];
    const segments = t.expand(summed, square);
    const masked = ['fill', 'cumsum', 'fill_infinite'].reduce(
      (x, step) => t.copy(x, square, name(step)),
      segments,
    );
    const decay = t.hold(t.keepOutput(masked, name('L')));
    const product = productsOf(t, sizes, batch * chunks * heads);
    const scores = t.hold(product(C, B, square, state, 'G'));
    const weighed = t.hold(t.mul(scores, decay, name('M')));
    const diagonal = t.hold(product(weighed, hidden, hidden.shape, chunk, 'Y_diag'));
    const left = t.hold(t.keepOutput(summed, name('decay_states')));
    const decayed = t.hold(t.mul(B, left, name('B_decay')));
    const ofChunks = product(decayed, hidden, [batch, chunks, heads, headDim, state], chunk, 'states');
    const before = t.hold(between(t, ofChunks, sizes, batch, chunks));
    const grown = t.hold(t.keepOutput(summed, name('state_decay_out')));
    const fromStates = t.hold(product(C, before, hidden.shape, state, 'C_times_states'));
    const outside = t.hold(t.mul(fromStates, grown, name('Y_off')));
    const sum = t.add(t.add(diagonal, outside, name('Y')), residual, name('output'));
    const shape = [batch, length, heads * headDim];
    return whole === length ? t.view(sum, shape) : t.slice(sum, shape);
  });
}

/** Sums over products of two factors, chunk by chunk and head by head. */
function productsOf(t: Tracer, { module, chunk }: ChunkScanSizes, blocks: number) {
  const { autocast, computeDtype, behaviours } = t.settings;
  return (a: Tensor, b: Tensor, shape: readonly number[], inner: number, part: string): Tensor => {
    const name = `${module}.${part}`;
    if (behaviours.sumsWholeProducts) return summedProduct(t, a, b, shape, inner, name);
    // Factors whose heads do not lie together are copied.
    const together = (x: Tensor, side: string) => {
      const lies = x.elements === blocks * chunk * chunk && x.shape.length === 5 && x.shape[3] === chunk;
      const ordered = lies ? x : t.copy(x, x.shape, `${name}_${side}`);
      return autocast ? t.cast(ordered, computeDtype, `${name}_${side}_cast`) : ordered;
    };
    return t.matmul(together(a, 'left'), together(b, 'right'), shape, inner, name);
  };
}

/** `(a[...] * b[...]).sum()`: the product of all dimensions is there until it is summed, in backward one for each factor. */
function summedProduct(
  t: Tracer,
  a: Tensor,
  b: Tensor,
  shape: readonly number[],
  inner: number,
  name: string,
): Tensor {
  const elements = shape.reduce((all, size) => all * size, 1) * inner;
  return t.fused({
    name,
    inputs: [a, b],
    outputs: [{ shape, dtype: 'fp32' }],
    savesInputs: [a, b],
    forwardScratch: elements * ELEMENT_BYTES.fp32,
    backwardScratch: 2 * elements * ELEMENT_BYTES.fp32,
    flops: 2 * elements,
  });
}

/** The state before each chunk, of those that chunks give: a product with the decay between every two chunks. */
function between(t: Tracer, states: Tensor, sizes: ChunkScanSizes, batch: number, chunks: number): Tensor {
  const { module, heads, headDim, state } = sizes;
  const each = heads * headDim * state;
  const all = t.concat([states], [batch, chunks + 1, each], `${module}.states`);
  const pairs = batch * heads * (chunks + 1) ** 2 * ELEMENT_BYTES.fp32;
  const width = t.settings.autocast ? ELEMENT_BYTES[t.settings.computeDtype] : ELEMENT_BYTES.fp32;
  const wholeProducts = t.settings.behaviours.sumsWholeProducts;
  const elements = batch * (chunks + 1) * each;
  const product = wholeProducts ? elements * (chunks + 1) * ELEMENT_BYTES.fp32 : 0;
  const made = t.fused({
    name: `${module}.new_states`,
    inputs: [all],
    outputs: [
      { shape: all.shape, dtype: wholeProducts || !t.settings.autocast ? 'fp32' : t.settings.computeDtype },
    ],
    savesInputs: wholeProducts ? [all] : [],
    savesBytes: pairs + (wholeProducts ? 0 : elements * width),
    forwardScratch: product,
    backwardScratch: 2 * product,
    flops: 2 * elements * (chunks + 1),
  });
  return t.slice(made, states.shape);
}
