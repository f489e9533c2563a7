import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/**
 * `nn.GroupNorm` over `[n, ...]` of so many channels: keeps its input, and mean and reciprocal deviation of each group of each
 * sample in the type that it computes in. Under autocast that is fp32 (`autocast_mode.h`, fp32 list). The shape of `x` in and out.
 */
export function groupNorm(
  t: Tracer,
  x: Tensor,
  spec: { readonly name: string; readonly channels: number; readonly groups: number },
): Tensor {
  const { name, channels, groups } = spec;
  const input = t.settings.autocast ? t.cast(x, 'fp32', `${name}.float`) : x;
  return t.fused({
    name,
    inputs: [input],
    outputs: [{ shape: x.shape, dtype: input.dtype }],
    savesInputs: [input],
    savesBytes: 2 * (x.shape[0] ?? 1) * groups * ELEMENT_BYTES[input.dtype],
    weights: ['weight', 'bias'].map((part) => t.weight({ name: `${name}.${part}`, shape: [channels] })),
    fusible: 'reduction',
  });
}
