import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface ConvolutionSpec {
  readonly name: string;
  /** Shape of the kernel: output channels, input channels per group, sizes. */
  readonly kernel: readonly number[];
  /** Shape of the result. */
  readonly out: readonly number[];
  readonly bias?: boolean;
  /** Leading channels of the kernel split over tensor-parallel ranks. */
  readonly split?: boolean;
}

/**
 * Convolution: keeps its input for the kernel's gradient; neither quantized nor adapted. From any shape to the one that the
 * spec gives, with the channels of the kernel `[out, in, ...]`.
 */
export function convolution(t: Tracer, x: Tensor, spec: ConvolutionSpec): Tensor {
  const { tensorParallel } = t.settings;
  const [channels = 1, ...rest] = spec.kernel;
  const local = spec.split ? channels / tensorParallel : channels;
  const weight = t.weight({
    name: `${spec.name}.weight`,
    shape: spec.kernel,
    local: [local, ...rest],
  });
  const bias = spec.bias
    ? t.weight({ name: `${spec.name}.bias`, shape: [channels], local: [local] })
    : undefined;
  const elements = spec.out.reduce((a, b) => a * b, 1);
  const flops = 2 * elements * rest.reduce((a, b) => a * b, 1);
  return t.convolve(x, weight, bias, { name: spec.name, shape: spec.out, flops });
}
