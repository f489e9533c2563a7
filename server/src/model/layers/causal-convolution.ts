import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface CausalConvolutionSpec {
  /** Path of the module, for example `linear_attn.conv1d`. */
  readonly name: string;
  /** Channels of all tensor-parallel ranks. */
  readonly width: number;
  /** Positions that each output reads. */
  readonly kernel: number;
  readonly bias: boolean;
  /** The activation behind it, which the kernel of `causal-conv1d` computes along. Default SiLU. */
  readonly activates?: boolean;
}

/** The weights of a depthwise convolution, `[channels, 1, kernel]`, and its bias. */
export function convolutionWeights(t: Tracer, { name, width, kernel, bias }: CausalConvolutionSpec) {
  const local = width / t.settings.tensorParallel;
  return [
    t.weight({ name: `${name}.weight`, shape: [width, 1, kernel], local: [local, 1, kernel] }),
    ...(bias ? [t.weight({ name: `${name}.bias`, shape: [width], local: [local] })] : []),
  ];
}

/**
 * Depthwise causal convolution along the sequence, `[batch, length, channels]` in and out. The kernel of `causal-conv1d` keeps its input
 * and computes the activation again. PyTorch's own operators (`causal_conv1d_fn` of `modeling_mamba2.py`) keep the input, and what the
 * convolution gives beyond the length for the activation.
 */
export function causalConvolution(t: Tracer, x: Tensor, spec: CausalConvolutionSpec): Tensor {
  const { name, kernel, activates = true } = spec;
  const weights = convolutionWeights(t, spec);
  const flops = 2 * x.elements * kernel;
  if (!t.lacks('causal-conv1d'))
    return t.fused({
      name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesInputs: [x],
      weights,
      flops,
    });
  const { autocast, computeDtype } = t.settings;
  // In the type of its weights, whatever its input's; autocast makes a copy of its own.
  const wide = t.cast(x, weights[0]?.dtype ?? x.dtype, `${name}.to`);
  const read = autocast ? t.cast(wide, computeDtype, `${name}.autocast`) : wide;
  const [batch = 1, length = 1, channels = 1] = x.shape;
  const padded = t.fused({
    name,
    inputs: [read],
    outputs: [{ shape: [batch, length + kernel - 1, channels], dtype: read.dtype }],
    savesInputs: [read],
    weights,
    flops: (flops * (length + kernel - 1)) / length,
  });
  const cut = t.slice(padded, x.shape);
  return t.cast(activates ? t.keepInput(cut, `${name}.silu`) : cut, x.dtype, `${name}.back`);
}
