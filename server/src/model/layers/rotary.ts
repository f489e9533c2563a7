import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/**
 * Rotary position embedding of a query or key, `x * cos + rotate_half(x) * sin`. Cosine and sine need no gradient, so nothing
 * of `x` is kept; the result is a new tensor. Liger's kernel writes in place. `[b, s, heads x headDim]` in and out.
 */
export function rotary(t: Tracer, x: Tensor, name: string, rotatedShare = 1): Tensor {
  // Cosine and sine have the type of the hidden states, which autocast of fp32 weights leaves in fp32.
  const { autocast, weightDtype, behaviours } = t.settings;
  const promotes = autocast && weightDtype === 'fp32' && behaviours.rotatesInFp32;
  const dtype = promotes ? 'fp32' : x.dtype;
  const bytes = x.elements * ELEMENT_BYTES[dtype];
  if (t.settings.liger) {
    return t.fused({
      name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
    });
  }
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype }],
    // Forward: x * cos, the rotated copy with its negated half, and its product with sin.
    forwardScratch: 2 * bytes * rotatedShare,
    // Backward: grad * cos, grad * sin, and the two halves rotated back.
    backwardScratch: 2 * bytes * rotatedShare,
  });
}
