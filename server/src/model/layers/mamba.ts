import { ELEMENT_BYTES, type Tensor, type TensorDType, type Weight } from '../tape';
import type { Tracer } from '../tracer';
import type { Block } from './block';
import { causalConvolution, convolutionWeights } from './causal-convolution';
import { chunkScanInTorch } from './chunk-scan';
import { rmsNorm } from './norm';
import { selectiveScanInTorch } from './selective-scan';

/** Tokens between the states that the selective scan keeps (`selective_scan_fwd_kernel.cuh`). */
const SCAN_CHUNK = 2048;

interface MambaSpec {
  /** Module path, for example `mixer`. */
  readonly module: string;
  readonly hidden: number;
  readonly inner: number;
  readonly state: number;
  readonly kernel: number;
  readonly rank: number;
  readonly convBias: boolean;
  readonly bias: boolean;
  /** Jamba norms the time step and both state projections, so the one-kernel path cannot be taken. */
  readonly normed?: boolean;
}

/**
 * Selective state space mixer (Mamba 1) with the kernels of `mamba-ssm` and `causal-conv1d`. Training takes
 * `mamba_inner_fn`, which keeps the joint projection, the small projections and the scan's states, and computes the
 * convolution and the time steps again in backward.
 */
export function mamba(spec: MambaSpec): Block {
  return (t, x) => {
    const joint = t.linear(x, {
      name: `${spec.module}.in_proj`,
      out: 2 * spec.inner,
      bias: spec.bias,
      split: 'column',
    });
    return lacksMixer(t) || spec.normed ? separate(t, joint, spec) : inner(t, joint, spec);
  };
}

/** The one-kernel path of `mamba-ssm` calls `causal-conv1d` for its convolution (`ops/selective_scan_interface.py`, `ops/triton/ssd_combined.py`). */
function lacksMixer(t: Tracer): boolean {
  const lacked = [t.lacks('mamba-ssm'), t.lacks('causal-conv1d')];
  return lacked.includes(true);
}

interface Parts {
  readonly rows: number;
  readonly local: number;
  readonly bytes: number;
  readonly states: number;
  readonly scanFlops: number;
}

function partsOf(t: Tracer, joint: Tensor, spec: MambaSpec): Parts {
  const rows = joint.elements / (joint.shape.at(-1) ?? 1);
  const local = spec.inner / t.settings.tensorParallel;
  const [batch = 1, length = 1] = joint.shape;
  return {
    rows,
    local,
    bytes: ELEMENT_BYTES[joint.dtype],
    states: batch * local * Math.ceil(length / SCAN_CHUNK) * 2 * spec.state * ELEMENT_BYTES.fp32,
    // Discretization, recurrence and readout of every state: nine operations.
    scanFlops: 9 * rows * local * spec.state,
  };
}

/** Backward of products with weights, of operators without, and what the kernel computes again for it. */
function backwardOf(
  x: Tensor,
  weights: readonly Weight[],
  products: number,
  others: number,
  again: number,
): number {
  const trained = weights.some((weight) => weight.trainable);
  if (!trained && !x.requiresGrad) return 0;
  return (trained ? 2 : 1) * products + 2 * others + again;
}

const convolutionOf = ({
  module,
  inner,
  kernel,
  convBias,
}: Pick<MambaSpec, 'module' | 'inner' | 'kernel' | 'convBias'>) => ({
  name: `${module}.conv1d`,
  width: inner,
  kernel,
  bias: convBias,
});

function scanWeights(t: Tracer, spec: MambaSpec, local: number) {
  const { module } = spec;
  return [
    t.weight({ name: `${module}.A_log`, shape: [spec.inner, spec.state], local: [local, spec.state] }),
    t.weight({ name: `${module}.D`, shape: [spec.inner], local: [local] }),
  ];
}

function inner(t: Tracer, joint: Tensor, spec: MambaSpec): Tensor {
  const { rows, local, bytes, states, scanFlops } = partsOf(t, joint, spec);
  const small = spec.rank + 2 * spec.state;
  const { module } = spec;
  const weights = [
    ...convolutionWeights(t, convolutionOf(spec)),
    t.weight({ name: `${module}.x_proj.weight`, shape: [small, spec.inner], local: [small, local] }),
    t.weight({ name: `${module}.dt_proj.weight`, shape: [spec.inner, spec.rank], local: [local, spec.rank] }),
    t.weight({ name: `${module}.dt_proj.bias`, shape: [spec.inner], local: [local] }),
    ...scanWeights(t, spec, local),
    t.weight({
      name: `${module}.out_proj.weight`,
      shape: [spec.hidden, spec.inner],
      local: [spec.hidden, local],
    }),
  ];
  if (spec.bias) weights.push(t.weight({ name: `${module}.out_proj.bias`, shape: [spec.hidden] }));
  const idle = t.idleAdapter({ name: `${module}.out_proj`, out: spec.hidden, split: 'row' }, local);
  const products = 2 * rows * local * (small + spec.rank + spec.hidden);
  const conv = 2 * rows * local * spec.kernel;
  // The convolution and the time steps are computed again.
  const again = conv + 2 * rows * local * spec.rank;
  return t.fused({
    name: `${module}.mamba_inner`,
    inputs: [joint],
    outputs: [{ shape: [...joint.shape.slice(0, -1), spec.hidden], dtype: joint.dtype }],
    savesInputs: [joint],
    // x_dbl, the scan's result and its states.
    savesBytes: rows * (small + local) * bytes + states,
    forwardScratch: 2 * rows * local * bytes,
    backwardScratch: 4 * rows * local * bytes,
    weights: [...weights, ...idle],
    flops: products + conv + scanFlops,
    backwardFlops: backwardOf(joint, weights, products, conv + scanFlops, again),
    expensive: true,
  });
}

function separate(t: Tracer, joint: Tensor, spec: MambaSpec): Tensor {
  const { local, states, scanFlops, rows } = partsOf(t, joint, spec);
  const { module } = spec;
  return t.scope(() => {
    t.hold(joint);
    const [x = joint, gate = joint] = t.split(joint, [local, local]);
    const convolved = t.hold(causalConvolution(t, x, convolutionOf(spec)));
    const small = t.linear(convolved, {
      name: `${module}.x_proj`,
      out: spec.rank + 2 * spec.state,
      split: 'row',
    });
    const [step = small, b = small, c = small] = t.split(small, [spec.rank, spec.state, spec.state]);
    const norm = (y: Tensor, name: string) =>
      spec.normed ? rmsNorm(t, y, { name: `${module}.${name}`, style: 'llama' }) : y;
    const time = norm(step, 'dt_layernorm');
    const write = t.hold(norm(b, 'b_layernorm'));
    const read = t.hold(norm(c, 'c_layernorm'));
    const delta = t.linear(time, { name: `${module}.dt_proj`, out: spec.inner, bias: true, split: 'column' });
    const output = (y: Tensor) =>
      t.linear(y, { name: `${module}.out_proj`, out: spec.hidden, bias: spec.bias, split: 'row' });
    if (t.lacks('mamba-ssm'))
      return output(selectiveScanInTorch(t, { hidden: convolved, steps: delta, write, read, gate }, spec));
    const scanned = t.fused({
      name: `${module}.selective_scan`,
      inputs: [convolved, delta, write, read, gate],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesInputs: [convolved, delta, write, read, gate],
      // The result before the gate, and the states.
      savesBytes: rows * local * ELEMENT_BYTES[x.dtype] + states,
      weights: scanWeights(t, spec, local),
      flops: scanFlops,
      expensive: true,
    });
    return output(scanned);
  });
}

export interface Mamba2Spec {
  readonly module: string;
  readonly hidden: number;
  readonly inner: number;
  readonly heads: number;
  readonly groups: number;
  readonly state: number;
  readonly kernel: number;
  readonly chunk: number;
  readonly convBias: boolean;
  readonly bias: boolean;
  /** Of the output projection; default as `bias`. */
  readonly outputBias?: boolean;
  /** False: no norm between the scan and the output projection (Falcon-H1). */
  readonly gatedNorm?: boolean;
  /** The input, and by a vector what is projected, are multiplied (Falcon-H1). */
  readonly scaled?: boolean;
}

/** That of Mamba 2's mixer: of what it reads, and of what it writes and reads the state by. */
const mixerConvolution = ({ inner, groups, state, ...spec }: Mamba2Spec) =>
  convolutionOf({ ...spec, inner: inner + 2 * groups * state });

/** A product with a buffer of the model, in the wider of both types. */
function scaledByVector(t: Tracer, x: Tensor, name: string): Tensor {
  return t.settings.weightDtype === 'fp32' && x.dtype !== 'fp32' ? t.cast(x, 'fp32', name) : t.scale(x, name);
}

/** Mamba 2's mixer without its kernels (`Mamba2Mixer.forward`): convolution, scan and norm one after the other. */
function mixerInTorch(t: Tracer, joint: Tensor, dtype: TensorDType, spec: Mamba2Spec): Tensor {
  const ranks = t.settings.tensorParallel;
  const { module, state, chunk } = spec;
  const [width, groups, heads] = [spec.inner / ranks, spec.groups / ranks, spec.heads / ranks];
  return t.scope(() => {
    t.hold(joint);
    const shared = groups * state;
    const [gate = joint, mixed = joint, steps = joint] = t.split(joint, [width, width + 2 * shared, heads]);
    const convolved = t.hold(causalConvolution(t, mixed, mixerConvolution(spec)));
    const [hidden = convolved, write = convolved, read = convolved] = t.split(convolved, [
      width,
      shared,
      shared,
    ]);
    const sizes = { module, heads, groups, headDim: width / heads, state, chunk };
    const scanned = t.hold(chunkScanInTorch(t, { hidden, write, read, steps }, sizes));
    const gated =
      spec.gatedNorm === false
        ? t.mul(scanned, t.keepInput(gate, `${module}.gate`), `${module}.gated`)
        : normedByGate(t, scanned, gate, module, spec.inner);
    return t.linear(t.cast(gated, dtype, `${module}.scan_to`), {
      name: `${module}.out_proj`,
      out: spec.hidden,
      bias: spec.outputBias ?? spec.bias,
      split: 'row',
    });
  });
}

/** `MambaRMSNormGated`: gate and norm in fp32. */
function normedByGate(t: Tracer, scanned: Tensor, gate: Tensor, module: string, width: number): Tensor {
  return t.scope(() => {
    const name = (part: string) => `${module}.norm.${part}`;
    const ranks = t.settings.tensorParallel;
    const gain = t.weight({ name: `${module}.norm.weight`, shape: [width], local: [width / ranks] });
    const wide = t.cast(scanned, 'fp32', name('float'));
    const open = t.keepInput(t.cast(gate, 'fp32', name('gate_float')), name('silu'));
    const gated = t.hold(t.mul(wide, open, name('gated')));
    const rows = gated.elements / (width / ranks);
    const root = t.keepOutput(
      t.shift(t.reduce(t.power(gated, name('pow')), [rows, 1], name('mean')), name('eps')),
      name('rsqrt'),
    );
    const normed = t.mul(gated, root, name('mul'));
    // What the scan gives is fp32 already, and so is what the norm does.
    return t.mulWeight(normed, gain, name('gain'));
  });
}

/**
 * Mamba 2 mixer in one kernel (`mamba_split_conv1d_scan_combined`): keeps its input and the scan's result for the
 * gated norm; the convolution, the chunk states and the chunk products are made again in backward.
 */
export function mamba2(spec: Mamba2Spec): Block {
  return (t, x) => {
    const { module, inner: width, state, groups, heads, chunk } = spec;
    const ranks = t.settings.tensorParallel;
    const conv = width + 2 * groups * state;
    const projected = t.linear(spec.scaled ? t.scale(x, `${module}.ssm_in_multiplier`) : x, {
      name: `${module}.in_proj`,
      out: width + conv + heads,
      bias: spec.bias,
      split: 'column',
    });
    const joint = spec.scaled ? scaledByVector(t, projected, `${module}.mup_vector`) : projected;
    if (lacksMixer(t)) return mixerInTorch(t, joint, x.dtype, spec);
    const rows = joint.elements / (joint.shape.at(-1) ?? 1);
    const vector = (name: string, size: number) =>
      t.weight({ name: `${module}.${name}`, shape: [size], local: [size / ranks] });
    const weights = [
      ...convolutionWeights(t, mixerConvolution(spec)),
      vector('dt_bias', heads),
      vector('A_log', heads),
      vector('D', heads),
      ...(spec.gatedNorm === false ? [] : [vector('norm.weight', width)]),
      t.weight({
        name: `${module}.out_proj.weight`,
        shape: [spec.hidden, width],
        local: [spec.hidden, width / ranks],
      }),
      ...((spec.outputBias ?? spec.bias)
        ? [t.weight({ name: `${module}.out_proj.bias`, shape: [spec.hidden] })]
        : []),
    ];
    const idle = t.idleAdapter({ name: `${module}.out_proj`, out: spec.hidden, split: 'row' }, width / ranks);
    const bytes = ELEMENT_BYTES[joint.dtype];
    const [batch = 1, length = 1] = joint.shape;
    const chunks = Math.ceil(length / chunk);
    const states = (batch * chunks * width * state * ELEMENT_BYTES.fp32) / ranks;
    const products = (batch * chunks * groups * chunk * chunk * ELEMENT_BYTES.fp32) / ranks;
    const scratch = (rows * conv * bytes) / ranks + states + products;
    const scan = 2 * rows * ((chunk * groups * state) / 2 + (chunk * width) / 2 + 2 * width * state);
    const product = (2 * rows * width * spec.hidden) / ranks;
    const mixing = (2 * rows * conv * spec.kernel + scan) / ranks;
    return t.fused({
      name: `${module}.mamba_split_conv1d_scan`,
      inputs: [joint],
      outputs: [{ shape: [...joint.shape.slice(0, -1), spec.hidden], dtype: joint.dtype }],
      savesInputs: [joint],
      savesBytes: (rows * width * bytes) / ranks + rows * ELEMENT_BYTES.fp32,
      forwardScratch: scratch + (rows * width * bytes) / ranks,
      backwardScratch: 2 * scratch,
      weights: [...weights, ...idle],
      flops: product + mixing,
      backwardFlops: backwardOf(joint, weights, product, mixing, mixing),
      expensive: true,
    });
  };
}
