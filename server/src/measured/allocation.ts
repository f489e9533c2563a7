import type { Quantity } from './quantity';
import type { TorchEra } from './torch-message';

const MIB = 2 ** 20;
const ROUND = 512;

/**
 * What a tensor's bytes come to where the allocator asks the device for them, and so what a failed request names
 * (`c10/cuda/CUDACachingAllocator.cpp`, `get_allocation_size`, since 1.1): up to 1 MiB a segment of 2 MiB, below 10 MiB one
 * of 20 MiB, else the next 2 MiB.
 */
export function requestedFor(bytes: number): number {
  const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
  if (size <= MIB) return 2 * MIB;
  if (size < 10 * MIB) return 20 * MIB;
  return Math.ceil(size / (2 * MIB)) * 2 * MIB;
}

/** The same up to 1.0 (`THCCachingAllocator.cpp`): large requests in steps of 128 KiB. */
function requestedBefore(bytes: number): number {
  const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
  return size <= MIB ? 2 * MIB : Math.ceil(size / (MIB / 8)) * (MIB / 8);
}

/** Whether a tensor of so many bytes is one that a failed request may have been for. */
export function mayBe(bytes: number, requested: Quantity, era: TorchEra | undefined): boolean {
  const within = (value: number) => value >= requested.lowerBytes && value <= requested.upperBytes;
  if (era === undefined) return within(bytes) || within(Math.ceil(bytes / 256) * 256);
  if (within(requestedFor(bytes))) return true;
  return era === 'cached' && within(requestedBefore(bytes));
}

/** Bytes that tensors may have had for which so much was requested: least and most. */
export function tensorBytesOf(requested: Quantity, era: TorchEra | undefined): readonly [number, number] {
  if (era === undefined) return [requested.lowerBytes, requested.upperBytes];
  const last = Math.floor(requested.upperBytes / (2 * MIB)) * 2 * MIB;
  const first = Math.ceil(requested.lowerBytes / (2 * MIB)) * 2 * MIB;
  if (last < first) return [requested.lowerBytes, requested.upperBytes];
  if (isSmall(requested)) return first <= 2 * MIB ? [1, MIB] : [MIB + 1, 20 * MIB];
  return [first - 2 * MIB + 1, last];
}

/** Whether so many tensors have that size that it names none: the segments that small requests share. */
export function isSmall({ bytes }: Quantity): boolean {
  return bytes <= 2 * MIB || bytes === 20 * MIB;
}
