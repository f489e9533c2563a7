import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/**
 * `nn.BatchNorm1d` and its kin over `[n, channels, ...]`: keeps its input, and mean and reciprocal deviation of each channel in fp32. It has no
 * type of its own under autocast. The shape of `x` in and out.
 */
export function batchNorm(t: Tracer, x: Tensor, name: string, channels: number): Tensor {
  const normed = t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: x.dtype }],
    savesInputs: [x],
    savesBytes: 2 * channels * ELEMENT_BYTES.fp32,
    weights: ['weight', 'bias'].map((part) => t.weight({ name: `${name}.${part}`, shape: [channels] })),
  });
  t.ownBuffer(`${name}.running`, 2 * channels, t.settings.weightDtype);
  return normed;
}
