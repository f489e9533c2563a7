import { rounded } from '../memory/play';
import { ELEMENT_BYTES, type Tensor } from '../model/tape';

/** Bytes of a tensor of its own, as the allocator hands them out. */
export function tensorBytes(x: Tensor): number {
  return rounded(x.elements * ELEMENT_BYTES[x.dtype]);
}
