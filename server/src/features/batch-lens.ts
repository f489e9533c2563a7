import { isEstimated } from '../advice/changed-run';
import { largestMicroBatch, MOST_SAMPLES } from '../advice/largest-batch';
import type { RunValues } from '../run/fields';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** What the second lens may take where it is drawn at once with the first. Milliseconds. */
const BUDGET_MS = 10;

/** What the second lens states, and what a click on it writes; nothing where the run has that already, or none fits. */
export interface BatchLens {
  readonly title: string;
  readonly writes?: { readonly label: string; readonly values: RunValues };
}

/** As `batchLens`, if it is known within the budget: the next call goes on from there. */
export function promptBatchLens(analysis: Analysis): BatchLens | undefined {
  const end = performance.now() + BUDGET_MS;
  return batchLens(analysis, () => performance.now() > end);
}

/** Some estimates more than the first lens. Undefined where it is not known before `isLate` states it. */
export function batchLens(analysis: Analysis, isLate = () => false): BatchLens | undefined {
  const largest = isEstimated(analysis) ? largestMicroBatch(analysis, isLate) : undefined;
  if (!largest) return undefined;
  const { micro, ofOne } = largest;
  if (micro >= MOST_SAMPLES) return { title: say('largest micro batch that fits: {0} or more', micro) };
  if (micro > 0) {
    const title = say('largest micro batch that fits: {0}', micro);
    if (micro === analysis.resolved.run?.['batch.micro']) return { title };
    return { title, writes: { label: say('Micro batch {0}', micro), values: { 'batch.micro': micro } } };
  }
  return {
    title:
      ofOne === 'tight' ? say('even a micro batch of 1 is tight') : say('not even a micro batch of 1 fits'),
  };
}
