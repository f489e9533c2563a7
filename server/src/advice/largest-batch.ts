import { type Estimated, tryChanges } from './changed-run';

const MOST = 4096;
const kept = new WeakMap<Estimated, number | undefined>();

/**
 * Largest micro batch whose run fits, all else equal; 0 where not even one sample does, undefined where the estimate does not
 * grow with it up to 4,096. Doubling, then halving: at most two dozen estimates, remembered per analysis.
 */
export function largestMicroBatch(analysis: Estimated): number | undefined {
  if (!kept.has(analysis)) kept.set(analysis, search(analysis));
  return kept.get(analysis);
}

function search(analysis: Estimated): number | undefined {
  const fits = (micro: number) => {
    if (micro === analysis.resolved.run?.['batch.micro']) return analysis.estimate.verdict === 'fits';
    return tryChanges(analysis, { 'batch.micro': micro })?.estimate.verdict === 'fits';
  };
  const present = Math.max(1, analysis.resolved.run?.['batch.micro'] ?? 1);
  let low = 0;
  let high = present;
  if (fits(present)) {
    while (fits(high)) {
      low = high;
      high *= 2;
      if (high > MOST) return undefined;
    }
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}
