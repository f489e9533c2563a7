import type { Verdict } from '../results/estimate';
import { type Estimated, tryChanges } from './changed-run';

/** Nobody asks for more samples per GPU than this: larger ones are not tried. */
export const MOST_SAMPLES = 4096;

interface LargestBatch {
  /** Largest micro batch whose run fits; 0 where not even one sample does. From `MOST_SAMPLES` on larger ones may fit as well. */
  readonly micro: number;
  /** A run of one sample, where none fits. */
  readonly ofOne?: Verdict;
}

/** A search that is under way, or its end. */
type Search = Generator<void, LargestBatch, void>;
const kept = new WeakMap<Estimated, Search | LargestBatch>();

/**
 * Largest micro batch whose run fits, all else equal. Doubling, then halving: at most two dozen estimates, remembered per
 * analysis. Undefined where `isLate` states it after one of them; the next call goes on from there.
 */
export function largestMicroBatch(analysis: Estimated, isLate: () => boolean): LargestBatch | undefined;
export function largestMicroBatch(analysis: Estimated): LargestBatch;
export function largestMicroBatch(analysis: Estimated, isLate = () => false): LargestBatch | undefined {
  const known = kept.get(analysis) ?? search(analysis);
  if (!('next' in known)) return known;
  for (;;) {
    const step = known.next();
    kept.set(analysis, step.done ? step.value : known);
    if (step.done) return step.value;
    if (isLate()) return undefined;
  }
}

function* search(analysis: Estimated): Search {
  function* verdictAt(micro: number): Generator<void, Verdict | undefined, void> {
    if (micro === analysis.resolved.run?.['batch.micro']) return analysis.estimate.verdict;
    const verdict = tryChanges(analysis, { 'batch.micro': micro })?.estimate.verdict;
    yield;
    return verdict;
  }
  const present = Math.max(1, analysis.resolved.run?.['batch.micro'] ?? 1);
  let low = 0;
  let high = present;
  if ((yield* verdictAt(present)) === 'fits') {
    do {
      low = high;
      if (low >= MOST_SAMPLES) return { micro: low };
      high = Math.min(2 * high, MOST_SAMPLES);
    } while ((yield* verdictAt(high)) === 'fits');
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((yield* verdictAt(middle)) === 'fits') low = middle;
    else high = middle;
  }
  return low === 0 ? { micro: 0, ofOne: yield* verdictAt(1) } : { micro: low };
}
