import type { ProductTracer } from './product-tracer';
import { ELEMENT_BYTES, type Tensor, type Weight } from './tape';

/** A linear layer whose result DoRA adds to. */
interface DecomposedLayer {
  readonly name: string;
  /** What the adapter is given, in its type; dropped already where the run drops. */
  readonly x: Tensor;
  /** The layer's own result; undefined where dropout makes DoRA compute it again, of the dropped input. */
  readonly base?: Tensor;
  readonly biased: boolean;
  readonly weight: Weight;
  readonly magnitude: Weight;
  readonly rank: number;
  readonly out: number;
  /** The result of both factors. */
  readonly low: () => Tensor;
}

/**
 * DoRA: `(m/n - 1) * W x + m/n * B A x * s`, where n is the norm of the rows of `W + s B A` (peft 0.21.2, `lora/dora.py`,
 * `DoraLinearLayer.forward`; `lora/variants.py`, `DoraLinearVariant.forward`). The change `B A` is made of an identity matrix
 * of the input's width, and both it and the weight are copied to the type of the input, under names that stay until the
 * function returns; the graph of the change keeps what the identity was multiplied as. With dropout `W x` is computed a
 * second time, of the dropped input, and backward needs that copy of the weight. From the layer's input `[..., in]` to
 * `[..., out]`.
 */
export function decomposed(t: ProductTracer, layer: DecomposedLayer): Tensor {
  const { name, x, out } = layer;
  const width = x.shape.at(-1) ?? 0;
  const { autocast, computeDtype } = t.settings;
  const product = autocast ? computeDtype : x.dtype;
  return t.scope(() => {
    const eye = t.fused({
      name: `${name}.dora.eye`,
      inputs: [],
      outputs: [{ shape: [width, width], dtype: x.dtype }],
    });
    const factor = t.cast(eye, product, `${name}.dora.eye_cast`);
    const made = t.scope(() => {
      t.hold(eye);
      const low = t.fused({
        name: `${name}.dora.lora_A`,
        inputs: [factor],
        outputs: [{ shape: [width, layer.rank], dtype: product }],
        flops: 2 * width * width * layer.rank,
        backwardFlops: 0,
      });
      return t.fused({
        name: `${name}.dora.lora_B`,
        inputs: [low],
        outputs: [{ shape: [width, out], dtype: product }],
        flops: 2 * width * layer.rank * out,
        backwardFlops: 0,
      });
    });
    const change = t.hold(t.cast(made, x.dtype, `${name}.dora.change`));
    const whole = copyOf(t, layer);
    t.scope(() => {
      const scaled = t.scale(change, `${name}.dora.scaled`);
      const inputs = whole ? [scaled, whole] : [scaled];
      const sum = t.fused({
        name: `${name}.dora.sum`,
        inputs,
        outputs: [{ shape: change.shape, dtype: x.dtype }],
      });
      t.fused({ name: `${name}.dora.norm`, inputs: [sum], outputs: [{ shape: [out], dtype: x.dtype }] });
    });
    const ratio = t.fused({
      name: `${name}.dora.ratio`,
      inputs: [],
      outputs: [{ shape: [1, out], dtype: layer.magnitude.dtype }],
      weights: [layer.magnitude],
    });
    const low = t.hold(layer.low());
    const base = t.hold(ownResult(t, layer, whole));
    const ofBase = t.mul(base, ratio, `${name}.dora.base`);
    const ofChange = t.scale(t.mul(low, ratio, `${name}.dora.lora`), `${name}.lora_scaling`);
    const result = t.add(ofBase, ofChange, `${name}.dora`);
    t.dropGraph(factor);
    return result;
  });
}

/** The weight, unpacked and in the type of the input, where it is not so already. */
function copyOf(t: ProductTracer, { name, x, weight }: DecomposedLayer): Tensor | undefined {
  const shape = [weight.localElements];
  if (weight.quantization !== 'none') {
    const unpacked = t.fused({
      name: `${name}.dora.unpacked`,
      inputs: [],
      outputs: [{ shape, dtype: t.settings.computeDtype }],
    });
    return t.hold(t.cast(unpacked, x.dtype, `${name}.dora.weight`));
  }
  if (weight.dtype === x.dtype) return undefined;
  return t.hold(t.fused({ name: `${name}.dora.weight`, inputs: [], outputs: [{ shape, dtype: x.dtype }] }));
}

/** `W x` without its bias: as the layer gave it, or computed again. */
function ownResult(t: ProductTracer, layer: DecomposedLayer, whole: Tensor | undefined): Tensor {
  const { name, x, base, weight, out } = layer;
  if (base) return layer.biased ? t.shift(base, `${name}.dora.unbiased`) : base;
  const { autocast, computeDtype } = t.settings;
  const product = autocast ? computeDtype : x.dtype;
  return t.scope(() => {
    const input = t.cast(t.hold(x), product, `${name}.dora.input_cast`);
    const read = whole && t.cast(whole, product, `${name}.dora.weight_cast`);
    const flops = 2 * (x.elements / (x.shape.at(-1) ?? 1)) * weight.localElements;
    // A parameter in another type is cast for this product alone: autocast caches trained ones.
    const cast = !whole && weight.dtype !== product;
    return t.fused({
      name: `${name}.dora.linear`,
      inputs: read ? [input, read] : [input],
      outputs: [{ shape: [...x.shape.slice(0, -1), out], dtype: product }],
      savesInputs: read && x.requiresGrad ? [read] : [],
      savesBytes: cast && x.requiresGrad ? weight.localElements * ELEMENT_BYTES[product] : 0,
      flops,
      backwardFlops: x.requiresGrad ? flops : 0,
      expensive: true,
    });
  });
}
