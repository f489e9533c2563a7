import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import type { Block } from './block';
import { causalConvolution } from './causal-convolution';

interface KimiDeltaSpec {
  readonly module: string;
  readonly hidden: number;
  readonly heads: number;
  readonly headDim: number;
  /** Width of the short convolution. */
  readonly kernel: number;
  /** The gate of the result is one linear layer, in place of two through a head's width (Kimi K3). */
  readonly fullGate?: boolean;
}

/** Tokens of one chunk (`fla/ops/kda/chunk.py`, `chunk_size`). */
const CHUNK = 64;

/**
 * Kimi Linear's attention (`KimiLinearDeltaAttention`) with the kernels of `flash-linear-attention` and `causal-conv1d`: a gated delta
 * rule whose decay has a value for each channel. A block from `[batch, sequence, hidden]` to the same shape.
 */
export function kimiDeltaAttention(spec: KimiDeltaSpec): Block {
  return (t, x) => t.scope(() => run(t, x, spec));
}

function run(t: Tracer, x: Tensor, spec: KimiDeltaSpec): Tensor {
  const { module, heads, headDim, kernel } = spec;
  const width = heads * headDim;
  const ranks = t.settings.tensorParallel;
  const local = width / ranks;
  const column = (from: Tensor, name: string, out: number) =>
    t.linear(from, { name: `${module}.${name}`, out, split: 'column' });
  const parts = ['q_proj', 'k_proj', 'v_proj'].map((name) => column(x, name, width));
  const lead = (parts[0] ?? x).shape.slice(0, -1);
  const mixed = t.concat(parts, [...lead, 3 * local], `${module}.mixed_qkv`);
  const convolution = { name: `${module}.conv1d`, width: 3 * width, kernel, bias: false };
  const convolved = t.hold(causalConvolution(t, mixed, convolution));
  // Without it, transformers runs chunks of the rule in PyTorch's own operators (`chunk_kimi_delta_attention`).
  t.needs('flash-linear-attention');
  const decay = t.hold(forgetGate(t, x, spec));
  const beta = t.hold(t.keepOutput(column(x, 'b_proj', heads), `${module}.beta`));
  const scanned = t.hold(deltaRule(t, { convolved, decay, beta }, spec));
  const gate = t.hold(
    spec.fullGate
      ? column(x, 'g_proj', width)
      : column(t.linear(x, { name: `${module}.g_a_proj`, out: headDim }), 'g_b_proj', width),
  );
  const normed = gatedNorm(t, scanned, gate, spec);
  return t.linear(normed, { name: `${module}.o_proj`, out: spec.hidden, split: 'row' });
}

/** `-exp(A_log) * softplus(f + dt_bias)` in fp32, operator by operator (`KimiLinearForgetGate`). `[..., heads * headDim]` out. */
function forgetGate(t: Tracer, x: Tensor, { module, heads, headDim }: KimiDeltaSpec): Tensor {
  const name = `${module}.forget_gate`;
  const ranks = t.settings.tensorParallel;
  const width = heads * headDim;
  return t.scope(() => {
    const low = t.linear(x, { name: `${name}.f_a_proj`, out: headDim });
    const forget = t.hold(t.linear(low, { name: `${name}.f_b_proj`, out: width, split: 'column' }));
    const wide = t.cast(forget, 'fp32', `${name}.float`);
    const bias = t.weight({ name: `${name}.dt_bias`, shape: [width], local: [width / ranks] });
    const rate = t.weight({
      name: `${name}.A_log`,
      shape: [1, 1, heads, 1],
      local: [1, 1, heads / ranks, 1],
    });
    const g = t.hold(t.addWeight(wide, { ...bias, dtype: 'fp32' }, `${name}.bias`));
    const one = t.shift(t.keepOutput(g, `${name}.exp`), `${name}.plus_one`);
    const soft = t.hold(
      t.fused({
        name: `${name}.where`,
        inputs: [g, t.keepInput(one, `${name}.log`)],
        outputs: [{ shape: g.shape, dtype: 'fp32' }],
        // The condition.
        savesBytes: g.elements * ELEMENT_BYTES.bool,
      }),
    );
    return t.fused({
      name: `${name}.decay`,
      inputs: [soft],
      outputs: [{ shape: soft.shape, dtype: 'fp32' }],
      savesInputs: [soft],
      weights: [rate],
    });
  });
}

interface DeltaInputs {
  /** Queries, keys and values joined, `[..., 3 * heads * headDim]`. */
  readonly convolved: Tensor;
  readonly decay: Tensor;
  readonly beta: Tensor;
}

/**
 * What `ChunkKDAFunction` keeps: normed queries and keys with their norms, values made contiguous, the decay as it is given and
 * summed over its chunk, both fp32, and two matrices of a chunk's width per token and head. `[..., heads * headDim]` out.
 */
function deltaRule(t: Tracer, { convolved, decay, beta }: DeltaInputs, spec: KimiDeltaSpec): Tensor {
  const heads = spec.heads / t.settings.tensorParallel;
  const { headDim } = spec;
  const shape = decay.shape;
  const { elements } = decay;
  const rows = elements / (heads * headDim);
  const bytes = ELEMENT_BYTES[convolved.dtype];
  const states = Math.ceil(rows / CHUNK) * heads * headDim * headDim * bytes;
  const matrices = 2 * rows * heads * CHUNK * bytes;
  return t.fused({
    name: `${spec.module}.chunk_kda`,
    inputs: [convolved, decay, beta],
    outputs: [{ shape, dtype: convolved.dtype }],
    savesInputs: [decay, beta],
    savesBytes:
      3 * elements * bytes + elements * ELEMENT_BYTES.fp32 + 2 * rows * heads * ELEMENT_BYTES.fp32 + matrices,
    // Contiguous queries and keys, then what the recurrence is given and gives (`w`, `u`, `kg`, `v_new`), and a state of each chunk.
    forwardScratch: 6 * elements * bytes + states,
    // The same once more with `qg`, states and their gradients, and in fp32 gradients of queries, keys and the decay, each written twice,
    // and of both matrices (`chunk_kda_bwd`); what is given on is among them or comes when they are gone.
    backwardScratch:
      3 * elements * bytes +
      2 * states +
      5 * elements * ELEMENT_BYTES.fp32 +
      2 * rows * heads * CHUNK * ELEMENT_BYTES.fp32,
    flops: 6 * elements * headDim + 8 * elements * CHUNK,
    expensive: true,
  });
}

/** A norm with its gain in fp32, times the sigmoid of a gate, cast last (`KimiLinearRMSNormGated`). `[..., heads * headDim]` out. */
function gatedNorm(t: Tracer, x: Tensor, gate: Tensor, { module, headDim }: KimiDeltaSpec): Tensor {
  const name = `${module}.o_norm`;
  const gain = t.weight({ name: `${name}.weight`, shape: [headDim] });
  return t.scope(() => {
    const wide = t.cast(x, 'fp32', `${name}.float`);
    const square = t.power(wide, `${name}.pow`);
    const variance = t.hold(t.reduce(square, [x.elements / headDim, 1], `${name}.mean`));
    const root = t.keepOutput(t.shift(variance, `${name}.eps`), `${name}.rsqrt`);
    const normed = t.mul(wide, root, `${name}.mul`);
    const scaled = t.hold(t.mulWeight(normed, { ...gain, dtype: 'fp32' }, `${name}.gain`));
    const open = t.keepOutput(t.cast(gate, 'fp32', `${name}.gate`), `${name}.sigmoid`);
    return t.cast(t.mul(scaled, open, `${name}.gated`), x.dtype, `${name}.to`);
  });
}
