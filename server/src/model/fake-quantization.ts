import { ELEMENT_BYTES, type Weight } from './tape';

/** How weights are rounded in quantization-aware training. `int8-int4` rounds inputs of linear layers and embeddings, too. */
export type FakeQuantization = 'none' | 'int4' | 'int8' | 'int8-int4';

/** Elements that share a scale, which a row has to be a multiple of (torchao's `PerGroup`); whole rows in int8. */
const GROUPS: Readonly<Record<FakeQuantization, number>> = { none: 1, int4: 128, int8: 1, 'int8-int4': 32 };

/** Whether a linear layer with this weight gets a `FakeQuantizedLinear` in its place. */
export function isRounded(
  { role, shape, expert, quantization }: Weight,
  kind: FakeQuantization = 'none',
): boolean {
  const [, width = 0] = shape;
  const isLinear = (role === 'matrix' || role === 'head') && shape.length === 2 && !expert;
  return kind !== 'none' && isLinear && quantization === 'none' && width % GROUPS[kind] === 0;
}

/**
 * Bytes that backward of a rounded weight keeps beside the weight and the rounded one: its quantizer is compiled, and what the partition of
 * forward and backward leaves between both was printed (torch 2.13, torchao 0.18, `min_cut_rematerialization_partition`). int4 keeps
 * one fp32 number per element, and two masks where the weight is fp32 (`Int4WeightFakeQuantizer`); the others keep one mask
 * (`IntxFakeQuantizer`). What lies with scales is a group's share of that, and left out.
 */
export function keptOfRounding({ dtype, localElements }: Weight, kind?: FakeQuantization): number {
  const masks = dtype === 'fp32' ? 2 * ELEMENT_BYTES.bool : 0;
  return localElements * (kind === 'int4' ? ELEMENT_BYTES.fp32 + masks : ELEMENT_BYTES.bool);
}
