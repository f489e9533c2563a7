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
  const { computeDtype, autocast, tensorParallel } = t.settings;
  const input = autocast ? t.cast(x, computeDtype, `${spec.name}.cast`) : x;
  const [channels = 1, ...rest] = spec.kernel;
  const local = spec.split ? channels / tensorParallel : channels;
  const weight = t.weight({
    name: `${spec.name}.weight`,
    shape: spec.kernel,
    local: [local, ...rest],
  });
  const weights = [weight];
  if (spec.bias) weights.push(t.weight({ name: `${spec.name}.bias`, shape: [channels], local: [local] }));
  const elements = spec.out.reduce((a, b) => a * b, 1);
  const flops = 2 * elements * rest.reduce((a, b) => a * b, 1);
  return t.fused({
    name: spec.name,
    inputs: [input],
    outputs: [{ shape: spec.out, dtype: input.dtype }],
    savesInputs: weight.trainable ? [input] : [],
    weights,
    flops,
    backwardFlops: (x.requiresGrad ? flops : 0) + (weight.trainable ? flops : 0),
    expensive: true,
  });
}
