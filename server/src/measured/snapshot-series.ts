import type { MeasuredKind, Series } from './measurement';
import type { MemorySnapshot } from './memory-snapshot';
import { exactly } from './quantity';

/** The highest points of a snapshot, as a log would have reported them. */
export function snapshotSeries(snapshot: MemorySnapshot): Series[] {
  const source = 'torch.cuda.memory._dump_snapshot';
  const one = (kind: MeasuredKind, bytes: number): Series[] => {
    if (bytes <= 0) return [];
    const highest = { source, kind, peak: true, quantity: exactly(bytes), rank: snapshot.device, line: 0 };
    return [
      { source, kind, peak: true, rank: snapshot.device, highest, last: highest, count: 1, course: [bytes] },
    ];
  };
  return [...one('allocated', snapshot.peakAllocatedBytes), ...one('reserved', snapshot.peakReservedBytes)];
}
