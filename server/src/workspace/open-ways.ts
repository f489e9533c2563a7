import { withChanges } from '../memo/on-demand';
import type { Estimate } from '../results/estimate';
import type { Unread } from '../run/unread';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { AnsweredValue } from './unknown-values';

/** What the run needs where its script goes another way at a condition that it does not settle. */
export interface AnsweredWay {
  readonly condition: Unread;
  readonly estimate: Estimate;
}

/**
 * A verdict holds on every way that a script may go, or there is none: a branch that was guessed decides no run. `open` is the way by
 * which it would be another.
 */
export function overWays(
  estimate: Estimate,
  ways: readonly AnsweredWay[],
): { readonly estimate: Estimate; readonly open?: AnsweredWay } {
  if (estimate.verdict === 'unknown') return { estimate };
  const [open] = ways
    .filter((way) => way.estimate.verdict !== 'unknown' && way.estimate.verdict !== estimate.verdict)
    .sort((a, b) => distance(b, estimate) - distance(a, estimate));
  if (!open) return { estimate };
  const { peak } = estimate;
  const other = open.estimate.peak;
  const lowerBytes = Math.min(peak.lowerBytes, other.lowerBytes);
  const upperBytes = Math.max(peak.upperBytes, other.upperBytes);
  const unmodelled = [...(estimate.unmodelled ?? []), 'open-branch'];
  return {
    estimate: withChanges(estimate, {
      verdict: 'unknown',
      unmodelled,
      peak: { ...peak, lowerBytes, upperBytes },
    }),
    open,
  };
}

/** No verdict holds while words of the launch are not known that stand there for certain: they are flags of the run. */
export function withoutWords(
  estimate: Estimate,
  unread: readonly Unread[],
): { readonly estimate: Estimate; readonly words?: Unread } {
  const words = unread.find(({ holdsWords }) => holdsWords);
  if (!words || estimate.verdict === 'unknown') return { estimate };
  const unmodelled = [...(estimate.unmodelled ?? []), 'open-words'];
  return { estimate: withChanges(estimate, { verdict: 'unknown', unmodelled }), words };
}

/**
 * A verdict holds whatever a value means that is written and not known, or there is none. `value` is the one by which it would be another;
 * the band is over all that were tried.
 */
export function overValues(
  estimate: Estimate,
  values: readonly AnsweredValue[],
): { readonly estimate: Estimate; readonly value?: AnsweredValue } {
  if (values.length === 0) return { estimate };
  const { peak } = estimate;
  const peaks = [peak, ...values.flatMap((value) => (value.estimate ? [value.estimate.peak] : []))];
  const lowerBytes = Math.min(...peaks.map((each) => each.lowerBytes));
  const upperBytes = Math.max(...peaks.map((each) => each.upperBytes));
  const widened = withChanges(estimate, { peak: { ...peak, lowerBytes, upperBytes } });
  if (estimate.verdict === 'unknown') return { estimate: widened };
  const [value] = values
    .filter(({ estimate: other }) => other?.verdict !== estimate.verdict && other?.verdict !== 'unknown')
    .sort((a, b) => distance(b, estimate) - distance(a, estimate));
  if (!value) return { estimate: widened };
  const unmodelled = [...(estimate.unmodelled ?? []), 'open-value'];
  return { estimate: withChanges(widened, { verdict: 'unknown', unmodelled }), value };
}

const distance = (way: Partial<AnsweredWay>, { peak }: Estimate): number =>
  Math.abs((way.estimate?.peak.processBytes ?? peak.processBytes) - peak.processBytes);

/** `Needs 34.4 of 79.1 GiB on H100, and 57.2 GiB by what else ...`. */
export const openValueWords = (figures: string, { unread, estimate }: AnsweredValue): string =>
  estimate
    ? say(
        'Needs about {0}, and {1} by what else `{2}` may mean, which is not known.',
        figures,
        formatBytes(estimate.peak.processBytes),
        unread.text,
      )
    : say('Needs about {0} without what `{1}` means, which is not known.', figures, unread.text);

/** `Needs 34.4 of 79.1 GiB on H100, 232.6 GiB on the other way of ...`. */
export const openWayWords = (figures: string, { condition, estimate }: AnsweredWay): string =>
  say(
    'Needs about {0}, and {1} where `{2}` turns out otherwise, which the script does not settle.',
    figures,
    formatBytes(estimate.peak.processBytes),
    condition.text,
  );
