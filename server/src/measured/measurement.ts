import type { DataLengths, TokensRead } from './data-lengths';
import type { InUse } from './kernels-in-use';
import type { Quantity } from './quantity';

/**
 * What a figure counts, per GPU: bytes in tensors, bytes in blocks in use, bytes that PyTorch's allocator holds, bytes that the
 * process or the whole card has in use. `torch` is one of the first three where the log does not say which. `host` is of the
 * machine.
 */
export type MeasuredKind = 'allocated' | 'active' | 'reserved' | 'torch' | 'process' | 'host';

/** One figure of a log. */
export interface Measurement {
  /** Who printed it: `torchtitan`, `DeepSpeed`. */
  readonly source: string;
  readonly kind: MeasuredKind;
  /** The highest since the start or since the source last reported, not the level of that moment. */
  readonly peak: boolean;
  readonly quantity: Quantity;
  readonly rank?: number;
  readonly step?: number;
  /** In the words of the log: `after model init`. */
  readonly moment?: string;
  /** Line of the log, from 0. */
  readonly line: number;
}

/** What a log or a run folder tells of the machine and the software. */
export interface MeasuredFacts {
  readonly gpu?: string;
  readonly capacityBytes?: number;
  readonly versions?: Readonly<Record<string, string>>;
  readonly lengths?: DataLengths;
  readonly tokensRead?: TokensRead;
  readonly inUse?: InUse;
}

/** All figures of one kind that one source printed of one rank. */
export interface Series {
  readonly source: string;
  readonly kind: MeasuredKind;
  readonly peak: boolean;
  readonly rank?: number;
  readonly highest: Measurement;
  readonly last: Measurement;
  readonly count: number;
  /** Bytes in the order of the log, thinned where there are many. */
  readonly course: readonly number[];
}

const MOST_KEPT = 512;
/** Ranks and sources that are distinguished. */
const MOST_SERIES = 2048;

interface Growing {
  highest: Measurement;
  last: Measurement;
  count: number;
  course: number[];
  /** Every so many figures one is kept. */
  stride: number;
}

/** Gathers figures; what it keeps does not grow with their number. */
export class SeriesCollector {
  readonly #series = new Map<string, Growing>();

  add(found: Measurement): void {
    const { source, kind, peak, rank } = found;
    const key = `${source}|${kind}|${peak}|${rank ?? ''}`;
    const known = this.#series.get(key);
    if (!known) {
      if (this.#series.size >= MOST_SERIES) return;
      const course = [found.quantity.bytes];
      this.#series.set(key, { highest: found, last: found, count: 1, course, stride: 1 });
      return;
    }
    if (found.quantity.bytes > known.highest.quantity.bytes) known.highest = found;
    known.last = found;
    if (known.count++ % known.stride === 0) known.course.push(found.quantity.bytes);
    if (known.course.length <= MOST_KEPT) return;
    known.course = known.course.filter((_, index) => index % 2 === 0);
    known.stride *= 2;
  }

  finish(): Series[] {
    return [...this.#series.values()].map(({ highest, last, count, course }) => {
      const { source, kind, peak, rank } = highest;
      return { source, kind, peak, ...(rank === undefined ? {} : { rank }), highest, last, count, course };
    });
  }
}

const MIB = 2 ** 20;

/**
 * Bytes by which memory grew from step to step without an end; zero where it came to rest. The first figures are warm-up:
 * states of the optimizer are made in the first step.
 */
export function growthOf({ course }: Series): number {
  const settled = course.slice(Math.max(2, Math.floor(course.length / 8)));
  if (settled.length < 8) return 0;
  const quarter = Math.floor(settled.length / 4);
  const means = [0, 1, 2, 3].map((i) => {
    const part = settled.slice(i * quarter, (i + 1) * quarter);
    return part.reduce((sum, bytes) => sum + bytes, 0) / part.length;
  });
  const [first = 0, second = 0, third = 0, fourth = 0] = means;
  const steps = [second - first, third - second, fourth - third];
  const total = fourth - first;
  // What grows ever more slowly comes to rest: longest batches are met one by one.
  const steady = steps.every((step) => step > 0) && (steps[2] ?? 0) > 0.4 * (steps[0] ?? 0);
  return steady && total > Math.max(128 * MIB, 0.01 * first) ? Math.round(total) : 0;
}
