import type { Trial } from './changed-run';

/**
 * Seconds per sample of one GPU's share, for comparisons within one run: the estimate of the step where the card's rates
 * are known, else the FLOPs. Undefined where nothing is computed.
 */
function perSample({ estimate, run }: Pick<Trial, 'estimate' | 'run'>): number | undefined {
  const { time, flopsPerStep } = estimate.compute;
  const samples = run['batch.global'] ?? run['batch.micro'] * run['batch.accumulation'];
  const work = time?.stepSeconds.likely ?? flopsPerStep;
  return work > 0 && samples > 0 ? work / samples : undefined;
}

/** Time per sample relative to another run: 1.3 is 30 % slower. Undefined where one of them is not known. */
export function relativeTime(
  trial: Pick<Trial, 'estimate' | 'run'>,
  to: Pick<Trial, 'estimate' | 'run'>,
): number | undefined {
  // A time and a FLOP count do not compare.
  if ((trial.estimate.compute.time === undefined) !== (to.estimate.compute.time === undefined))
    return undefined;
  const [now, before] = [perSample(trial), perSample(to)];
  return now === undefined || before === undefined ? undefined : now / before;
}

/** `about 30 % slower`, `as fast`, `about 12 % faster`. */
export function speedWords(relative: number | undefined): string | undefined {
  if (relative === undefined || !Number.isFinite(relative)) return undefined;
  const percent = Math.round((relative - 1) * 100);
  if (Math.abs(percent) < 2) return 'as fast';
  if (percent >= 200) return `${(Math.round(relative * 10) / 10).toFixed(1)} times slower`;
  return percent > 0 ? `about ${percent} % slower` : `about ${-percent} % faster`;
}
