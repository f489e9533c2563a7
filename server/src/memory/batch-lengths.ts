import type { TrainingRun } from '../run/fields';

/** Batches before the longest. Their lengths fill the range evenly in mixed order. */
const BATCHES = 8;
/** Fraction of the golden ratio: its multiples fill the unit interval more evenly than any other's. */
const GOLDEN = 0.618_033_988_749_895;

/** Those that are longer than all before, as shares of the range: only they find no block that is large enough. */
const RECORDS: readonly number[] = records(Array.from({ length: BATCHES }, (_, i) => ((i + 1) * GOLDEN) % 1));

/** The shares that are larger than all before them. */
export function records(shares: readonly number[]): number[] {
  return shares.filter((share, i) => shares.slice(0, i).every((before) => before < share));
}

/**
 * Lengths of the steps that are played, as shares of the longest. Where batches are alike: two steps, the second with
 * the optimizer's states. Where they vary, lengths of the distribution that assumes least: uniform up to the maximum, or
 * exponential where the mean is known; a batch is as long as its longest sample, and the longest of all comes last,
 * when the blocks of the others are there already. Of the others only those are played that are longer than all before
 * them: the rest fit into what is there.
 */
export function batchLengths(run: TrainingRun): number[] {
  if (!run['batch.varied'] || run['batch.packed']) return [1, 1];
  return [...RECORDS.map((uniform) => lengthShare(uniform, run)), 1];
}

/** Length of a batch as a share of the longest, which a share `uniform` of all batches are shorter than. */
export function lengthShare(uniform: number, run: TrainingRun): number {
  const share = uniform ** (1 / run['batch.micro']);
  const mean = run['batch.meanSequence'];
  return mean === undefined ? share : exponentialShare(share, mean / run['batch.sequence']);
}

/** Quantile of an exponential distribution of this mean, cut off at 1. */
function exponentialShare(quantile: number, mean: number): number {
  return -mean * Math.log(1 - quantile * (1 - Math.exp(-1 / mean)));
}
