import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { applyActivation } from './activation';
import { type Block, rms } from './block';

/** What the Conformers of Gemma 3n and Gemma 4 have in common (transformers 5.23, `modeling_gemma3n.py`, `modeling_gemma4.py`). */
export interface ConformerSpec {
  /** Elements of a frame. */
  readonly hidden: number;
  /** Frames that the convolution reads. */
  readonly kernel: number;
  readonly activation: string;
  /** Gemma 4 cuts off what goes into each linear layer and what comes out, and adds to residuals in place. */
  readonly newer: boolean;
  readonly clips: boolean;
}

const gemma = (name: string) => rms(name, 'gemma');

/** `torch.clamp` keeps its input; backward compares it with both ends. `[...]` in and out. */
export function clamp(t: Tracer, x: Tensor, name: string): Tensor {
  return t.keepInput(x, name, 2 * x.elements);
}

/** A linear layer between two clamps, where the checkpoint has bounds for them (`Gemma4ClippableLinear`); a plain one in Gemma 3n. */
export function conformerLinear(name: string, out: number, { newer, clips }: ConformerSpec): Block {
  if (!newer) return (t, x) => t.linear(x, { name, out });
  return (t, x) =>
    t.scope(() => {
      const input = clips ? clamp(t, t.hold(x), `${name}.clamp_input`) : x;
      const made = t.linear(input, { name: `${name}.linear`, out });
      return clips ? clamp(t, made, `${name}.clamp_output`) : made;
    });
}

/** `x + y`; where it is written in place, over `y`. */
export const residualSum = (
  t: Tracer,
  x: Tensor,
  y: Tensor,
  { newer }: ConformerSpec,
  name: string,
): Tensor => (newer ? t.addOnto(y, x, name) : t.add(x, y, name));

/** Half of a feed-forward of four times the width, between norms, `[b, frames, h]` in and out. */
export function conformerFeedForward(name: string, spec: ConformerSpec): Block {
  const { hidden, activation, newer } = spec;
  const up = conformerLinear(`${name}.ffw_layer_1`, 4 * hidden, spec);
  const down = conformerLinear(`${name}.ffw_layer_2`, hidden, spec);
  return (t, x) =>
    t.scope(() => {
      const clamped = clamp(t, t.hold(x), `${name}.clamp_input`);
      const normed = gemma(`${name}.pre_layer_norm`)(t, clamped);
      const fed = down(t, applyActivation(t, up(t, normed), activation));
      const after = gemma(`${name}.post_layer_norm`)(t, clamp(t, fed, `${name}.clamp_output`));
      // In place, a product with a number is a view with a gradient of its own.
      const scaled = newer ? t.slice(after, after.shape) : t.scale(after, `${name}.post_layer_scale`);
      return residualSum(t, x, scaled, spec, `${name}.residual`);
    });
}

/** A gated linear unit, a causal convolution of each channel by itself, and a linear layer: `[b, frames, h]` in and out. */
export function lightConvolution(name: string, spec: ConformerSpec): Block {
  const { hidden, kernel, activation, newer } = spec;
  const start = conformerLinear(`${name}.linear_start`, 2 * hidden, spec);
  const end = conformerLinear(`${name}.linear_end`, hidden, spec);
  return (t, x) =>
    t.scope(() => {
      const [batch = 1, frames = 1] = t.hold(x).shape;
      const gated = start(t, gemma(`${name}.pre_layer_norm`)(t, x));
      const unit = t.fused({
        name: `${name}.glu`,
        inputs: [gated],
        outputs: [{ shape: x.shape, dtype: gated.dtype }],
        savesInputs: [gated],
        fusible: 'pointwise',
      });
      const padded = t.copy(
        t.view(unit, [batch, hidden, frames]),
        [batch, hidden, frames + kernel - 1],
        `${name}.pad`,
      );
      const weight = t.weight({ name: `${name}.depthwise_conv1d.weight`, shape: [hidden, 1, kernel] });
      const made = t.convolve(newer ? padded : t.hold(padded), weight, undefined, {
        name: `${name}.depthwise_conv1d`,
        shape: [batch, hidden, frames],
        flops: 2 * x.elements * kernel,
      });
      const clamped = clamp(t, t.view(made, x.shape), `${name}.clamp`);
      const fed = end(t, applyActivation(t, gemma(`${name}.conv_norm`)(t, clamped), activation));
      return residualSum(t, x, fed, spec, `${name}.residual`);
    });
}
