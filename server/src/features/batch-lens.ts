import { isEstimated } from '../advice/changed-run';
import { largestMicroBatch } from '../advice/largest-batch';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** What the second lens says, worked out when an editor is about to show it: some estimates more than the first. */
export function batchLens(analysis: Analysis): string | undefined {
  if (!isEstimated(analysis)) return undefined;
  const largest = largestMicroBatch(analysis);
  if (largest === undefined) return say('any micro batch fits');
  return largest === 0
    ? say('not even a micro batch of 1 fits')
    : say('largest micro batch that fits: {0}', largest);
}
