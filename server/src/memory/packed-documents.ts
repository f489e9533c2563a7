import type { TrainingRun } from '../run/fields';

/**
 * Tokens that one token can see among packed samples, `E[n^2] / E[n]` of samples of `n` tokens, where attention
 * kernels keep samples apart (flash attention by sequence lengths, FlexAttention by block mask) and the mean length is
 * known. Lengths are taken to be distributed exponentially up to the sequence, as where batches vary.
 */
export function documentTokens(run: TrainingRun): number | undefined {
  const mean = run['batch.meanSequence'];
  if (!run['batch.packed'] || mean === undefined) return undefined;
  const kernel = run['attention.implementation'];
  if (kernel !== 'flash2' && kernel !== 'flash3' && kernel !== 'flex') return undefined;
  const longest = run['batch.sequence'];
  // Moments of an exponential distribution cut off at 1, both times the same constant.
  const scale = mean / longest;
  const tail = Math.exp(-1 / scale);
  const first = scale - tail * (1 + scale);
  const second = 2 * scale * scale - tail * (1 + 2 * scale + 2 * scale * scale);
  const seen = (longest * second) / first;
  // Beyond several times the longest sample the distribution is even, and its moments cancel in floating point.
  return scale > 100 ? (longest * 2) / 3 : Math.min(longest, Math.max(1, seen));
}
