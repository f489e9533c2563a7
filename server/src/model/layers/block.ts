import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { layerNorm, type RmsNormSpec, rmsNorm } from './norm';

/** A part of a layer that takes `[b, s, h]` to `[b, s, h]`. */
export type Block = (t: Tracer, x: Tensor) => Tensor;

/** RMS norm over the last dimension of a tensor of any shape, with a gain. */
export function rms(name: string, style: RmsNormSpec['style'] = 'llama'): Block {
  return (t, x) => rmsNorm(t, x, { name, style });
}

/** Layer norm over the last dimension of a tensor of any shape, with a gain. */
export function layerNormed(name: string, bias = true): Block {
  return (t, x) => layerNorm(t, x, { name, bias });
}

/** `F.layer_norm` in fp32 without gain or bias (OLMo 1). */
export function plainNorm(name: string): Block {
  return (t, x) => {
    const wide = t.cast(x, 'fp32', `${name}.float`);
    return t.cast(layerNorm(t, wide, { name, gain: false }), x.dtype, `${name}.to`);
  };
}

/**
 * Cohere's layer norm: written out in fp32, a gain and no bias. `shape` is that of the gain; norms of queries and keys
 * have one gain per head.
 */
export function centredNorm(name: string, shape: readonly number[]): Block {
  return (t, x) =>
    t.scope(() => {
      const rows = [...x.shape.slice(0, -1), 1];
      const wide = t.hold(t.cast(x, 'fp32', `${name}.float`));
      const mean = t.hold(t.reduce(wide, rows, `${name}.mean`));
      const square = t.power(t.add(wide, mean, `${name}.centre`), `${name}.pow`);
      const root = t.keepOutput(t.reduce(square, rows, `${name}.variance`), `${name}.rsqrt`);
      const normed = t.mul(t.add(wide, mean, `${name}.centre`), root, `${name}.mul`);
      const gain = t.weight({ name: `${name}.weight`, shape });
      return t.cast(t.mulWeight(normed, { ...gain, dtype: 'fp32' }, `${name}.gain`), x.dtype, `${name}.to`);
    });
}

/** T5's norm: the input stays as it is, its square is taken in fp32, and the product with the root is fp32. */
export function t5Norm(name: string): Block {
  return (t, x) =>
    t.scope(() => {
      const wide = t.cast(x, 'fp32', `${name}.float`);
      const square = t.power(wide, `${name}.pow`);
      const variance = t.hold(t.reduce(square, [...x.shape.slice(0, -1), 1], `${name}.mean`));
      const normed = t.mul(x, t.keepOutput(variance, `${name}.rsqrt`), `${name}.mul`);
      const gain = t.weight({ name: `${name}.weight`, shape: [x.shape.at(-1) ?? 1] });
      return t.mulWeight(t.cast(normed, gain.dtype, `${name}.to`), gain, `${name}.gain`);
    });
}
