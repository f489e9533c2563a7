import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import type { Block } from './block';
import { causalConvolution } from './causal-convolution';
import { CHUNK, deltaRuleInTorch, gatedNormInTorch } from './gated-delta-rule';

interface GatedDeltaNetSpec {
  readonly module: string;
  readonly hidden: number;
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  readonly kernel: number;
  /** Four projections of their own instead of two joint ones (Qwen3.5). */
  readonly separate?: boolean;
}

/**
 * Linear attention of Qwen3-Next, with the kernels of `flash-linear-attention` and `causal-conv1d` or in PyTorch's own operators
 * where they are absent. The kernel of the delta rule keeps its inputs, the norms of queries and keys, and one `64 x 64` matrix per
 * chunk and head.
 */
export function gatedDeltaNet(spec: GatedDeltaNetSpec): Block {
  return (t, x) => t.scope(() => run(t, x, spec));
}

function run(t: Tracer, x: Tensor, spec: GatedDeltaNetSpec): Tensor {
  const { module } = spec;
  const ranks = t.settings.tensorParallel;
  const keys = projected(spec).keys / ranks;
  const values = projected(spec).values / ranks;
  const heads = spec.valueHeads / ranks;
  const rows = x.elements / (x.shape.at(-1) ?? 1);
  const lead = x.shape.slice(0, -1);
  const { mixed, gate, b, a } = spec.separate ? separateInputs(t, x, spec) : jointInputs(t, x, spec);
  const width = 2 * spec.keyHeads * spec.keyDim + spec.valueHeads * spec.valueDim;
  const convolved = causalConvolution(t, mixed, {
    name: `${module}.conv1d`,
    width,
    kernel: spec.kernel,
    bias: false,
  });
  t.hold(convolved);
  const [q = convolved, k = convolved, v = convolved] = t.split(convolved, [keys, keys, values]);
  const beta = t.hold(t.keepOutput(b, `${module}.beta`));
  const wide = t.cast(a, 'fp32', `${module}.a`);
  const vector = (name: string) =>
    t.weight({ name: `${module}.${name}`, shape: [spec.valueHeads], local: [heads] });
  const decay = t.hold(
    t.fused({
      name: `${module}.decay`,
      inputs: [wide],
      outputs: [{ shape: wide.shape, dtype: 'fp32' }],
      savesInputs: [wide],
      savesOutputs: [0],
      weights: [vector('dt_bias'), vector('A_log')],
    }),
  );
  const spread = (y: Tensor, name: string) =>
    spec.keyHeads === spec.valueHeads
      ? y
      : t.copy(y, [...lead, heads * spec.keyDim], `${module}.repeat_${name}`);
  const queries = t.hold(spread(q, 'q'));
  const everyKey = t.hold(spread(k, 'k'));
  const inputs = { queries, keys: everyKey, values: v, decay, beta };
  if (t.lacks('flash-linear-attention')) {
    const { keyDim, valueDim } = spec;
    const scanned = deltaRuleInTorch(t, inputs, { module, heads, keyDim, valueDim });
    const normed = gatedNormInTorch(t, scanned, gate, `${module}.norm`, valueDim);
    return t.linear(normed, { name: `${module}.out_proj`, out: spec.hidden, split: 'row' });
  }
  const stateFlops = 2 * rows * heads * spec.keyDim * spec.valueDim;
  const chunkFlops = 2 * rows * heads * CHUNK * (2 * spec.keyDim + 2 * spec.valueDim);
  const scanned = t.fused({
    name: `${module}.chunk_gated_delta_rule`,
    inputs: [queries, everyKey, v, decay, beta],
    outputs: [{ shape: [...lead, values], dtype: v.dtype }],
    savesInputs: [queries, everyKey, v, decay, beta],
    savesBytes: rows * heads * (CHUNK * ELEMENT_BYTES[v.dtype] + 2 * ELEMENT_BYTES.fp32),
    // Normed queries and keys, and a state of `keyDim x valueDim` per chunk and head.
    forwardScratch: statesBytes(rows, heads, spec) + 2 * queries.elements * ELEMENT_BYTES[v.dtype],
    backwardScratch: 2 * statesBytes(rows, heads, spec) + 4 * queries.elements * ELEMENT_BYTES[v.dtype],
    flops: 3 * stateFlops + chunkFlops,
    expensive: true,
  });
  const gain = t.weight({ name: `${module}.norm.weight`, shape: [spec.valueDim] });
  const normed = t.fused({
    name: `${module}.norm`,
    inputs: [scanned, gate],
    outputs: [{ shape: scanned.shape, dtype: scanned.dtype }],
    savesInputs: [scanned, gate],
    savesBytes: rows * heads * ELEMENT_BYTES.fp32,
    weights: [gain],
  });
  return t.linear(normed, { name: `${module}.out_proj`, out: spec.hidden, split: 'row' });
}

/** Sizes of the projections, over all ranks. */
function projected(spec: GatedDeltaNetSpec): { readonly keys: number; readonly values: number } {
  return { keys: spec.keyHeads * spec.keyDim, values: spec.valueHeads * spec.valueDim };
}

/** What the delta rule is given, each `[..., features]`: queries, keys and values joined, the gate, and its two rates per head. */
interface Inputs {
  readonly mixed: Tensor;
  readonly gate: Tensor;
  readonly b: Tensor;
  readonly a: Tensor;
}

/** Of four projections (Qwen3.5). */
function separateInputs(t: Tracer, x: Tensor, spec: GatedDeltaNetSpec): Inputs {
  const { keys, values } = projected(spec);
  const projection = (name: string, out: number) =>
    t.linear(x, { name: `${spec.module}.${name}`, out, split: 'column' });
  const column = (name: string, out: number) => t.hold(projection(name, out));
  const joint = projection('in_proj_qkv', 2 * keys + values);
  return {
    // The kernel of the convolution wants channels to lie together; PyTorch's own operator takes them as they are.
    mixed: t.lacks('causal-conv1d') ? joint : t.copy(t.hold(joint), joint.shape, `${spec.module}.transpose`),
    gate: column('in_proj_z', values),
    b: column('in_proj_b', spec.valueHeads),
    a: column('in_proj_a', spec.valueHeads),
  };
}

/** Of two joint projections, whose results are split and copied. */
function jointInputs(t: Tracer, x: Tensor, spec: GatedDeltaNetSpec): Inputs {
  const { module } = spec;
  const ranks = t.settings.tensorParallel;
  const keys = projected(spec).keys / ranks;
  const values = projected(spec).values / ranks;
  const heads = spec.valueHeads / ranks;
  const column = (name: string, out: number) =>
    t.hold(t.linear(x, { name: `${module}.${name}`, out, split: 'column' }));
  const joint = column('in_proj_qkvz', 2 * projected(spec).keys + 2 * projected(spec).values);
  const small = column('in_proj_ba', 2 * spec.valueHeads);
  const sizes = [keys, keys, values, values];
  const [query = joint, key = joint, value = joint, gateView = joint] = t.split(joint, sizes);
  const [b = small, a = small] = t.split(small, [heads, heads]);
  const gate = t.hold(t.copy(gateView, gateView.shape, `${module}.z`));
  const parts = [t.copy(query), t.copy(key), t.copy(value)];
  const shape = [...x.shape.slice(0, -1), 2 * keys + values];
  return { mixed: t.concat(parts, shape, `${module}.mixed_qkv`), gate, b, a };
}

function statesBytes(rows: number, heads: number, spec: GatedDeltaNetSpec): number {
  return Math.ceil(rows / CHUNK) * heads * spec.keyDim * spec.valueDim * ELEMENT_BYTES.bf16;
}
