import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** Tokens of one chunk of the delta rule (`fla/ops/gated_delta_rule/chunk.py`; `torch_chunk_gated_delta_rule`). */
export const CHUNK = 64;

/** What the delta rule reads, on this rank. */
interface DeltaRuleInputs {
  /** `[batch, length, heads * key width]`, repeated for every value head. */
  readonly queries: Tensor;
  readonly keys: Tensor;
  /** `[batch, length, heads * value width]`. */
  readonly values: Tensor;
  /** Logarithm of the decay, `[batch, length, heads]`, fp32. */
  readonly decay: Tensor;
  /** Learning rate, `[batch, length, heads]`. */
  readonly beta: Tensor;
}

interface DeltaRuleSizes {
  readonly module: string;
  /** Value heads of this rank. */
  readonly heads: number;
  readonly keyDim: number;
  readonly valueDim: number;
}

/** The elements of `x` under another shape: a view. */
const shaped = (t: Tracer, x: Tensor, ...shape: number[]) => t.view(x, shape);

/** The product of a chunk in the type that autocast gives it, if it does. */
function read(t: Tracer, x: Tensor, name: string): Tensor {
  return t.settings.autocast ? t.cast(x, t.settings.computeDtype, name) : x;
}

/**
 * The gated delta rule in PyTorch's own operators (`modeling_qwen3_next.py`, `torch_chunk_gated_delta_rule`), which transformers runs
 * without `flash-linear-attention`: all in fp32, a chunk of 64 tokens as one system of equations, and a Python loop over the chunks that keeps
 * the state before each. `[batch, length, heads * value width]` in the values' type.
 */
export function deltaRuleInTorch(t: Tracer, inputs: DeltaRuleInputs, sizes: DeltaRuleSizes): Tensor {
  return t.scope(() => {
    const { module, heads, keyDim, valueDim } = sizes;
    const [batch = 1, length = 1] = inputs.values.shape;
    const chunks = Math.ceil(length / CHUNK);
    const wide = (x: Tensor, name: string, ...last: number[]) =>
      t.cast(shaped(t, x, batch, heads, length, ...last), 'fp32', `${module}.${name}_float`);
    const padded = (x: Tensor, name: string, ...last: number[]) =>
      t.copy(x, [batch, heads, chunks * CHUNK, ...last], `${module}.${name}_pad`);

    const query = t.scale(unit(t, wide(inputs.queries, 'q', keyDim), `${module}.q`), `${module}.q_scale`);
    const queries = padded(query, 'q', keyDim);
    const keys = padded(unit(t, wide(inputs.keys, 'k', keyDim), `${module}.k`), 'k', keyDim);
    // Queries and keys get new names once they are decayed; the others keep theirs until all is done.
    const values = t.hold(padded(wide(inputs.values, 'v', valueDim), 'v', valueDim));
    const beta = t.hold(padded(wide(inputs.beta, 'beta', 1), 'beta', 1));
    const decay = padded(wide(inputs.decay, 'g', 1), 'g', 1);

    const betaValues = t.hold(t.mul(values, beta, `${module}.v_beta`));
    const betaKeys = t.hold(t.mul(keys, beta, `${module}.k_beta`));
    const inChunks = (x: Tensor, last: number) => shaped(t, x, batch, heads, chunks, CHUNK, last);
    const summed = t.hold(t.copy(decay, decay.shape, `${module}.cum_decay`));
    const pairs = t.hold(pairwiseDecay(t, summed, [batch, heads, chunks, CHUNK, CHUNK], module));
    const scores = (x: Tensor, name: string) => {
      const product = t.matmul(
        read(t, inChunks(x, keyDim), `${name}_q`),
        read(t, inChunks(keys, keyDim), `${name}_k`),
        pairs.shape,
        keyDim,
        name,
      );
      return t.mul(product, pairs, `${name}_decayed`);
    };
    const system = t.hold(scores(betaKeys, `${module}.ut_system`));
    const inside = t.hold(scores(queries, `${module}.intra_chunk`));
    const grown = () => t.keepOutput(summed, `${module}.exp`);
    const decayedKeys = t.hold(t.mul(betaKeys, grown(), `${module}.decayed_k_beta`));
    const solved = (right: Tensor, last: number, name: string, first: boolean) =>
      t.hold(solve(t, system, inChunks(right, last), `${module}.${name}`, first));
    const newValues = solved(betaValues, valueDim, 'new_values', true);
    const solvedKeys = solved(decayedKeys, keyDim, 'k_cumdecay', false);
    const decayedQueries = t.hold(t.mul(queries, grown(), `${module}.q_decayed`));
    const leftKeys = t.hold(t.mul(keys, grown(), `${module}.k_decayed`));
    const scanned = scan(t, [newValues, solvedKeys, decayedQueries, inside, leftKeys], sizes, batch);
    const out = shaped(t, t.slice(scanned, [batch, heads, length, valueDim]), ...inputs.values.shape);
    return inputs.values.dtype === 'fp32'
      ? t.copy(out, out.shape, `${module}.out`)
      : t.cast(out, inputs.values.dtype, `${module}.out`);
  });
}

/** `x * rsqrt(sum(x * x) + eps)` over the last dimension (`l2norm`). */
function unit(t: Tracer, x: Tensor, name: string): Tensor {
  return t.scope(() => {
    t.hold(x);
    const sums = t.reduce(t.mul(x, x, `${name}_square`), [...x.shape.slice(0, -1), 1], `${name}_sum`);
    const root = t.hold(t.keepOutput(t.shift(sums, `${name}_eps`), `${name}_rsqrt`));
    return t.mul(x, root, `${name}_norm`);
  });
}

/** How much of each position of a chunk is left at each later one: the difference of two sums, masked, and its exponential, which is kept. */
function pairwiseDecay(t: Tracer, summed: Tensor, shape: readonly number[], module: string): Tensor {
  const difference = t.expand(summed, shape);
  const masked = t.copy(t.copy(difference, shape, `${module}.pairwise`), shape, `${module}.pairwise_masked`);
  return t.keepOutput(masked, `${module}.pairwise_decay`);
}

/**
 * One triangular system for each chunk and head: keeps its matrix and its solution (`derivatives.yaml`, `linalg_solve_triangular`). Before
 * transformers 5.17 the inverse was made row by row, with copies of each row and of all rows before it, and both right sides are kept.
 */
function solve(t: Tracer, system: Tensor, right: Tensor, name: string, first: boolean): Tensor {
  const flops = right.elements * CHUNK;
  if (!t.settings.behaviours.invertsChunksRowByRow)
    return t.fused({
      name,
      inputs: [system, right],
      outputs: [{ shape: right.shape, dtype: 'fp32' }],
      savesInputs: [system],
      savesOutputs: [0],
      backwardScratch: system.storage.bytes,
      flops,
    });
  const matrices = system.elements / CHUNK ** 2;
  const rows = Array.from({ length: CHUNK - 1 }, (_, i) => i + 1);
  const copied = rows.reduce((sum, i) => sum + i + i * i, 0);
  // The inverse is made once, for the first side, and multiplied with both.
  const inverse = first ? matrices * copied * ELEMENT_BYTES.fp32 : 0;
  const { autocast, computeDtype } = t.settings;
  const factors = autocast ? (system.elements + right.elements) * ELEMENT_BYTES[computeDtype] : 0;
  return t.fused({
    name,
    inputs: [system, right],
    outputs: [{ shape: right.shape, dtype: 'fp32' }],
    savesInputs: autocast ? [] : [system, right],
    savesBytes: inverse + factors,
    backwardScratch: 2 * system.storage.bytes,
    flops: flops + matrices * copied,
  });
}

/** The loop over chunks: the state before each, and the values that each writes, are kept, under autocast also copies of all that is multiplied. */
function scan(t: Tracer, parts: readonly Tensor[], sizes: DeltaRuleSizes, batch: number): Tensor {
  const { module, heads, keyDim, valueDim } = sizes;
  const [newValues, solvedKeys, queries, inside, keys] = parts;
  if (!newValues || !solvedKeys || !queries || !inside || !keys) throw new Error(`${module}: five parts`);
  const chunks = newValues.elements / (batch * heads * CHUNK * valueDim);
  const state = batch * heads * keyDim * valueDim;
  const written = batch * heads * CHUNK * valueDim;
  const { autocast, computeDtype } = t.settings;
  const low = ELEMENT_BYTES[computeDtype];
  // Autocast casts state and written values anew for each of their two products.
  const factors = 3 * batch * heads * CHUNK * keyDim + inside.elements / chunks;
  const copies = (factors + 2 * written + 2 * state) * low;
  const core = newValues.elements * ELEMENT_BYTES.fp32;
  return t.fused({
    name: `${module}.chunk_loop`,
    inputs: parts,
    outputs: [{ shape: newValues.shape, dtype: 'fp32' }],
    savesInputs: autocast ? [] : [solvedKeys, queries, inside, keys],
    savesBytes: chunks * (state * ELEMENT_BYTES.fp32 + (autocast ? copies : written * ELEMENT_BYTES.fp32)),
    forwardScratch: (2 * state + 3 * written) * ELEMENT_BYTES.fp32,
    // The gradient of the result is copied for each chunk (`CopySlices`), and that of a part is filled up from one chunk.
    backwardScratch: core + Math.max(core, solvedKeys.elements * ELEMENT_BYTES.fp32),
    flops: chunks * 2 * batch * heads * (3 * CHUNK * keyDim * valueDim + CHUNK * CHUNK * valueDim),
    expensive: true,
  });
}

/** The gated norm behind it in PyTorch's own operators (`Qwen3NextRMSNormGated`): fp32 inside, the gate in fp32, the input's type again. `[rows, heads * width]` in and out. */
export function gatedNormInTorch(t: Tracer, x: Tensor, gate: Tensor, name: string, width: number): Tensor {
  return t.scope(() => {
    const gain = t.weight({ name: `${name}.weight`, shape: [width] });
    const wide = t.hold(t.cast(t.hold(x), 'fp32', `${name}.float`));
    const rows = x.elements / width;
    const squares = t.power(wide, `${name}.pow`);
    const root = t.keepOutput(
      t.shift(t.reduce(squares, [rows, 1], `${name}.mean`), `${name}.eps`),
      `${name}.rsqrt`,
    );
    const normed = t.cast(t.mul(wide, root, `${name}.mul`), x.dtype, `${name}.to`);
    const scaled = t.hold(t.mulWeight(normed, gain, `${name}.gain`));
    const open = t.keepInput(t.cast(gate, 'fp32', `${name}.gate_float`), `${name}.silu`);
    return t.cast(t.mul(scaled, open, `${name}.gated`), x.dtype, `${name}.back`);
  });
}
