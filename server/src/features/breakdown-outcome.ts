import { tokensOfVerdict, verdictAt } from '../results/labels';
import type { Breakdown } from './protocol';

/** The verdict of a breakdown in words, with the micro batch and the length of samples that it is of. */
export const breakdownOutcome = ({ verdict, peak, hardware, foundBatch, open }: Breakdown): string =>
  verdictAt(verdict, peak?.processBytes, hardware?.capacityBytes, foundBatch, tokensOfVerdict(open));
