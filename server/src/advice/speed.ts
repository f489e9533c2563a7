import { decimal, significant } from '../wording/figures';
import { say } from '../wording/say';
import type { Trial } from './changed-run';

/** Times per token against another run's: 1.3 is 30 % slower. */
export interface RelativeTime {
  /** By the likely times of both. */
  readonly likely: number;
  /** By the longest of both: transfers that nothing hides count here. */
  readonly worst: number;
}

type End = 'likely' | 'high';

/**
 * Seconds per token, for comparisons within one run: the estimate of the step where the card's rates are known, else the
 * FLOPs. Undefined where nothing is computed.
 */
function perToken({ estimate }: Pick<Trial, 'estimate'>, end: End): number | undefined {
  const { time, flopsPerStep, tokensPerStep } = estimate.compute;
  const work = time?.stepSeconds[end] ?? flopsPerStep;
  return work > 0 && tokensPerStep > 0 ? work / tokensPerStep : undefined;
}

/** Time per token relative to another run; undefined where one of them is not known. */
export function relativeTime(
  trial: Pick<Trial, 'estimate'>,
  to: Pick<Trial, 'estimate'>,
): RelativeTime | undefined {
  // A time and a FLOP count do not compare.
  if ((trial.estimate.compute.time === undefined) !== (to.estimate.compute.time === undefined))
    return undefined;
  const ratio = (end: End) => {
    const [now, before] = [perToken(trial, end), perToken(to, end)];
    return now === undefined || before === undefined ? undefined : now / before;
  };
  const [likely, worst] = [ratio('likely'), ratio('high')];
  return likely === undefined || worst === undefined ? undefined : { likely, worst: Math.max(likely, worst) };
}

/** Where the ends of the ranges differ by this factor more than the likely times do, the worst is reported. */
const WORTH_TELLING = 1.15;

/** Less is no difference that an estimate of the time could tell. */
const SAME = 0.02;

/**
 * `1.3× slower`, `same speed`, `1.12× faster`, `up to 2.1× slower`: one unit, so that rows of a table compare. `same`: what stands for no
 * difference, where a column's title has the word already.
 */
export function speedWords(
  relative: RelativeTime | undefined,
  same: string = say('same speed'),
): string | undefined {
  if (!relative || !Number.isFinite(relative.worst)) return undefined;
  const { likely, worst } = relative;
  if (worst > likely * WORTH_TELLING && worst > 1) return say('up to {0}× slower', times(worst));
  if (Math.abs(likely - 1) < SAME) return same;
  return likely > 1 ? say('{0}× slower', times(likely)) : say('{0}× faster', times(1 / likely));
}

/**
 * `1.22× faster per token`, for runs whose steps hold other numbers of tokens: there the time of a step alone misleads. Undefined where they
 * hold the same, or where the times are not known.
 */
export function speedPerToken(
  trial: Pick<Trial, 'estimate'>,
  to: Pick<Trial, 'estimate'>,
): string | undefined {
  if (trial.estimate.compute.tokensPerStep === to.estimate.compute.tokensPerStep) return undefined;
  const words = speedWords(relativeTime(trial, to));
  return words && say('{0} per token', words);
}

/** Two digits behind the point below 2: there they decide. */
const times = (factor: number): string => (factor < 2 ? significant(factor, 3) : decimal(factor, 1));
