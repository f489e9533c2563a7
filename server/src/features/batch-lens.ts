import { isEstimated } from '../advice/changed-run';
import { largestMicroBatch, MOST_SAMPLES } from '../advice/largest-batch';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** What the second lens says: some estimates more than the first. Undefined where it is not known before `isLate` says so. */
export function batchLens(analysis: Analysis, isLate = () => false): string | undefined {
  const largest = isEstimated(analysis) ? largestMicroBatch(analysis, isLate) : undefined;
  if (!largest) return undefined;
  const { micro, ofOne } = largest;
  if (micro >= MOST_SAMPLES) return say('largest micro batch that fits: {0} or more', micro);
  if (micro > 0) return say('largest micro batch that fits: {0}', micro);
  return ofOne === 'tight'
    ? say('even a micro batch of 1 is tight')
    : say('not even a micro batch of 1 fits');
}
