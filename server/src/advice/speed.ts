import { say } from '../wording/say';
import type { Trial } from './changed-run';

/**
 * Seconds per token, for comparisons within one run: the estimate of the step where the card's rates are known, else the
 * FLOPs. Undefined where nothing is computed.
 */
function perToken({ estimate }: Pick<Trial, 'estimate'>): number | undefined {
  const { time, flopsPerStep, tokensPerStep } = estimate.compute;
  const work = time?.stepSeconds.likely ?? flopsPerStep;
  return work > 0 && tokensPerStep > 0 ? work / tokensPerStep : undefined;
}

/** Time per token relative to another run: 1.3 is 30 % slower. Undefined where one of them is not known. */
export function relativeTime(
  trial: Pick<Trial, 'estimate'>,
  to: Pick<Trial, 'estimate'>,
): number | undefined {
  // A time and a FLOP count do not compare.
  if ((trial.estimate.compute.time === undefined) !== (to.estimate.compute.time === undefined))
    return undefined;
  const [now, before] = [perToken(trial), perToken(to)];
  return now === undefined || before === undefined ? undefined : now / before;
}

/** `about 30 % slower`, `as fast`, `about 12 % faster`. */
export function speedWords(relative: number | undefined): string | undefined {
  if (relative === undefined || !Number.isFinite(relative)) return undefined;
  const percent = Math.round((relative - 1) * 100);
  if (Math.abs(percent) < 2) return say('as fast');
  if (percent >= 200) return say('{0} times slower', (Math.round(relative * 10) / 10).toFixed(1));
  return percent > 0 ? say('about {0} % slower', percent) : say('about {0} % faster', -percent);
}
