import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface SelectiveScanInputs {
  /** `[batch, length, channels]` of this rank, as are `steps` and `gate`. */
  readonly hidden: Tensor;
  readonly steps: Tensor;
  readonly gate: Tensor;
  /** `[batch, length, state]`. */
  readonly write: Tensor;
  readonly read: Tensor;
}

interface SelectiveScanSizes {
  readonly module: string;
  /** Of all ranks. */
  readonly inner: number;
  readonly state: number;
}

/**
 * Mamba's scan in PyTorch's own operators (`modeling_mamba.py`, `mamba_selective_scan`), which transformers runs without `mamba-ssm`: decay
 * and input of every state at every position are written out in fp32, and a Python loop over the positions keeps every state twice, in fp32 and
 * in the input's type. `[batch, length, channels]` in the input's type.
 */
export function selectiveScanInTorch(
  t: Tracer,
  inputs: SelectiveScanInputs,
  sizes: SelectiveScanSizes,
): Tensor {
  return t.scope(() => {
    const { module, inner, state } = sizes;
    const { hidden, gate } = inputs;
    const local = inner / t.settings.tensorParallel;
    const [batch = 1, length = 1] = hidden.shape;
    const all = [batch, length, local, state];
    const name = (part: string) => `${module}.${part}`;
    const steps = t.hold(t.keepInput(t.shift(inputs.steps, name('dt_bias')), name('softplus')));
    const decayLog = t.fused({
      name: name('A_dt'),
      inputs: [steps],
      outputs: [{ shape: all, dtype: 'fp32' }],
      savesInputs: [steps],
      weights: [t.weight({ name: name('A_log'), shape: [inner, state], local: [local, state] })],
      backwardScratch: hidden.elements * state * ELEMENT_BYTES.fp32,
    });
    const decay = t.hold(t.keepOutput(decayLog, name('discrete_A')));
    const write = t.cast(inputs.write, 'fp32', name('B_float'));
    const rates = t.hold(outer(t, steps, write, all, name('discrete_B')));
    const wide = t.cast(hidden, 'fp32', name('u_float'));
    const written = t.hold(t.mul(rates, wide, name('deltaB_u')));
    const scanned = loop(t, [decay, written, inputs.read], hidden, state, module);
    const skip = t.weight({ name: name('D'), shape: [inner], local: [local] });
    const sum = t.add(
      scanned,
      t.mulWeight(hidden, { ...skip, dtype: 'fp32' }, name('skip')),
      name('with_skip'),
    );
    const gated = t.mul(sum, t.keepInput(gate, name('gate')), name('gated'));
    return t.cast(gated, hidden.dtype, name('scan_to'));
  });
}

/** `steps[..., None] * write`, `[batch, length, channels, state]`; both gradients are that product first. */
function outer(t: Tracer, steps: Tensor, write: Tensor, shape: readonly number[], name: string): Tensor {
  const elements = shape.reduce((product, size) => product * size, 1);
  return t.fused({
    name,
    inputs: [steps, write],
    outputs: [{ shape, dtype: 'fp32' }],
    savesInputs: [steps, write],
    backwardScratch: 2 * elements * ELEMENT_BYTES.fp32,
  });
}

/** `h[i] = decay[i] * h[i - 1] + written[i]`, and its product with `read[i]`. */
function loop(
  t: Tracer,
  inputs: readonly [Tensor, Tensor, Tensor],
  hidden: Tensor,
  state: number,
  module: string,
): Tensor {
  const [decay, , read] = inputs;
  const narrow = ELEMENT_BYTES[hidden.dtype];
  const low = t.settings.autocast ? ELEMENT_BYTES[t.settings.computeDtype] : narrow;
  const whole = decay.elements * ELEMENT_BYTES.fp32;
  return t.fused({
    name: `${module}.selective_scan`,
    inputs,
    outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
    savesInputs: [decay, read],
    // Every state in fp32, and what it is cast to for the product.
    savesBytes: whole + (low < ELEMENT_BYTES.fp32 ? decay.elements * low : 0),
    forwardScratch: hidden.elements * narrow,
    // The gradient of one position fills up a tensor of all (`SelectBackward`).
    backwardScratch: whole,
    flops: 2 * hidden.elements * state,
    expensive: true,
  });
}
