import type { PyCall, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';

/** A number above zero that is written out. */
export const positiveNumber = (value: PyValue | undefined): number | undefined =>
  value?.kind === 'scalar' && typeof value.value === 'number' && value.value > 0 ? value.value : undefined;

/**
 * Pixels of a size that a call is given: `((480, 640))`, `(height=480, width=640)`; undefined where its sides are not written out.
 * `isSquare`: one number is the side of a square.
 */
export function pixelsOf(call: PyCall, name: string, place: number, isSquare: boolean): number | undefined {
  const size = argumentOf(call, name, place) ?? argumentOf(call, 'height', place);
  const width = argumentOf(call, 'width', place + 1) ?? (isSquare ? size : undefined);
  const [first, second] = size?.kind === 'list' ? size.items : [size, width];
  const [a, b] = [positiveNumber(first), positiveNumber(second)];
  return a === undefined || b === undefined ? undefined : a * b;
}

/** `size={"longest_edge": 1024}`. */
export function longestEdge(size: PyValue | undefined): PyValue | undefined {
  return size?.kind === 'dict' ? size.entries.find(({ key }) => key === 'longest_edge')?.value : undefined;
}

/** The size that gives most pixels. */
export function mostPixels<T extends { readonly pixels: number }>(sizes: readonly T[]): T | undefined {
  return [...sizes].sort((a, b) => b.pixels - a.pixels)[0];
}
