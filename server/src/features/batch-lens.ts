import { isEstimated } from '../advice/changed-run';
import { largestMicroBatch, MOST_SAMPLES } from '../advice/largest-batch';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** What the second lens may take where it is drawn at once with the first. Milliseconds. */
const BUDGET_MS = 10;

/** As `batchLens`, if it is known within the budget: the next call goes on from there. */
export function promptBatchLens(analysis: Analysis): string | undefined {
  const end = performance.now() + BUDGET_MS;
  return batchLens(analysis, () => performance.now() > end);
}

/** What the second lens states: some estimates more than the first. Undefined where it is not known before `isLate` states it. */
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
