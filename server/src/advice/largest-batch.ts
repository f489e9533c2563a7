import type { Verdict } from '../estimate';
import { type Estimated, tryChanges } from './changed-run';

/** Nobody asks for more samples per GPU than this: larger ones are not tried. */
export const MOST_SAMPLES = 4096;

export interface LargestBatch {
  /** Largest micro batch whose run fits; 0 where not even one sample does. From `MOST_SAMPLES` on larger ones may fit as well. */
  readonly micro: number;
  /** A run of one sample, where none fits. */
  readonly ofOne?: Verdict;
}

const kept = new WeakMap<Estimated, LargestBatch>();

/**
 * Largest micro batch whose run fits, all else equal. Doubling, then halving: at most two dozen estimates, remembered per
 * analysis.
 */
export function largestMicroBatch(analysis: Estimated): LargestBatch {
  const known = kept.get(analysis) ?? search(analysis);
  kept.set(analysis, known);
  return known;
}

function search(analysis: Estimated): LargestBatch {
  const verdictAt = (micro: number) =>
    micro === analysis.resolved.run?.['batch.micro']
      ? analysis.estimate.verdict
      : tryChanges(analysis, { 'batch.micro': micro })?.estimate.verdict;
  const fits = (micro: number) => verdictAt(micro) === 'fits';
  const present = Math.max(1, analysis.resolved.run?.['batch.micro'] ?? 1);
  let low = 0;
  let high = present;
  if (fits(present)) {
    do {
      low = high;
      if (low >= MOST_SAMPLES) return { micro: low };
      high = Math.min(2 * high, MOST_SAMPLES);
    } while (fits(high));
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low === 0 ? { micro: 0, ofOne: verdictAt(1) } : { micro: low };
}
