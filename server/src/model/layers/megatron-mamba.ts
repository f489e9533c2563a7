import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import type { Block } from './block';
import { convolutionWeights } from './causal-convolution';

interface MegatronMambaSpec {
  /** Module path, for example `mixer`. */
  readonly module: string;
  readonly hidden: number;
  readonly heads: number;
  readonly headDim: number;
  readonly groups: number;
  readonly state: number;
}

/** `MambaMixer.__init__` (`megatron/core/ssm/mamba_mixer.py`): `d_conv` and `chunk_size`, which no argument sets. */
const KERNEL = 4;
const CHUNK = 128;

/**
 * Megatron-Core's mixer of a Mamba 2 layer (`megatron/core/ssm/mamba_mixer.py`, `_ssm_training`): the joint projection, the
 * convolution and the scan in one kernel of mamba-ssm, the gated norm and the output projection, no biases. `x`: `[b, s, h]`.
 *
 * Unlike transformers' mixer the kernel has neither norm nor output projection in it (`mamba_split_conv1d_scan_combined` of
 * mamba-ssm 2.3.2): it keeps the projection and its result before the gate, the norm its input, and the output projection its
 * own. Where several samples are batched, the projection and the result are copied, as batch and sequence change places.
 */
export function megatronMamba(spec: MegatronMambaSpec): Block {
  return (t, x) => {
    const { module, hidden, heads, headDim, groups, state } = spec;
    const width = heads * headDim;
    const conv = width + 2 * groups * state;
    const projected = t.linear(x, { name: `${module}.in_proj`, out: width + conv + heads, split: 'column' });
    const joint = batchFirst(t, projected, `${module}.zxBCdt`);
    const scanned = batchFirst(t, scan(t, joint, spec, conv), `${module}.y`);
    return t.linear(gatedNorm(t, scanned, spec), { name: `${module}.out_proj`, out: hidden, split: 'row' });
  };
}

/** `rearrange("l b d -> b l d").contiguous()`, or back: a copy, unless there is one sample. */
function batchFirst(t: Tracer, x: Tensor, name: string): Tensor {
  return (x.shape[0] ?? 1) > 1 ? t.copy(x, x.shape, name) : x;
}

/** `mamba_split_conv1d_scan_combined` without a norm (`mamba_ssm/ops/triton/ssd_combined.py`). `joint`: `[b, s, z + x + B + C + dt]`. */
function scan(t: Tracer, joint: Tensor, spec: MegatronMambaSpec, conv: number): Tensor {
  const { module, heads, headDim, groups, state } = spec;
  const ranks = t.settings.tensorParallel;
  const width = heads * headDim;
  const rows = joint.elements / (joint.shape.at(-1) ?? 1);
  const [batch = 1, length = 1] = joint.shape;
  const chunks = Math.ceil(length / CHUNK);
  const bytes = ELEMENT_BYTES[joint.dtype];
  const wide = ELEMENT_BYTES.fp32;
  const vector = (name: string, size: number) =>
    t.weight({ name: `${module}.${name}`, shape: [size], local: [size / ranks] });
  const weights = [
    ...convolutionWeights(t, { name: `${module}.conv1d`, width: conv, kernel: KERNEL, bias: true }),
    vector('dt_bias', heads),
    vector('A_log', heads),
    vector('D', heads),
  ];
  const convolved = (rows * conv * bytes) / ranks;
  // `_chunk_cumsum_fwd`: time steps and their sums; `_chunk_state_fwd` in fp32, `_state_passing_fwd` in the type of C.
  const steps = (2 * batch * chunks * CHUNK * heads * wide) / ranks;
  const states = (batch * chunks * width * state) / ranks;
  // `_bmm_chunk_fwd`: products of C and B in fp32.
  const products = (batch * chunks * groups * CHUNK * CHUNK * wide) / ranks;
  const out = { shape: [...joint.shape.slice(0, -1), width / ranks], dtype: joint.dtype };
  const mixing =
    (2 * rows * conv * KERNEL +
      2 * rows * ((CHUNK * groups * state) / 2 + (CHUNK * width) / 2 + 2 * width * state)) /
    ranks;
  return t.fused({
    name: `${module}.mamba_split_conv1d_scan`,
    inputs: [joint],
    outputs: [out],
    savesInputs: [joint],
    // The result before the gate (`out_x`).
    savesBytes: (rows * width * bytes) / ranks,
    forwardScratch: convolved + steps + states * bytes + Math.max(states * wide, products),
    // `_mamba_chunk_scan_combined_bwd`: the convolution again and its gradient, states of both kinds and their gradients, and the products'.
    backwardScratch: 2 * convolved + steps + states * (bytes + wide) + states * wide + 2 * products,
    weights,
    flops: mixing,
    backwardFlops: 3 * mixing,
    expensive: true,
  });
}

/** `ExtendedRMSNorm` in groups, after the gate that the kernel applied: keeps its input and the root of each group in fp32. */
function gatedNorm(t: Tracer, y: Tensor, { module, heads, headDim, groups }: MegatronMambaSpec): Tensor {
  const ranks = t.settings.tensorParallel;
  const width = heads * headDim;
  const rows = y.elements / (y.shape.at(-1) ?? 1);
  return t.fused({
    name: `${module}.norm`,
    inputs: [y],
    outputs: [{ shape: y.shape, dtype: y.dtype }],
    savesInputs: [y],
    savesBytes: (rows * groups * ELEMENT_BYTES.fp32) / ranks,
    weights: [t.weight({ name: `${module}.norm.weight`, shape: [width], local: [width / ranks] })],
  });
}
