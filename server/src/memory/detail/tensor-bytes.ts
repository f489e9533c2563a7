import { ELEMENT_BYTES, type Tensor } from '../../model/tape';
import { rounded } from '../play';

/** Bytes of a tensor of its own, as the allocator hands them out. */
export function tensorBytes(x: Tensor): number {
  return rounded(x.elements * ELEMENT_BYTES[x.dtype]);
}
