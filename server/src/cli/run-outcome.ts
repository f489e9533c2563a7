import { verdictAt } from '../results/labels';
import type { CheckedRun } from './checked-file';

/** How a run comes out, in words: by how much it fits or not where that is known, else the verdict alone. */
export function runOutcome({ verdict, peak, capacityBytes }: CheckedRun): string {
  return verdictAt(verdict, peak?.processBytes, capacityBytes);
}
