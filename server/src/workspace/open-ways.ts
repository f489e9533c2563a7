import type { Estimate } from '../results/estimate';
import type { Unread } from '../run/unread';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import { otherVerdict, withBand, withoutVerdict } from './open-estimate';
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
  const open = estimate.verdict === 'unknown' ? undefined : otherVerdict(estimate, ways);
  if (!open) return { estimate };
  return { estimate: withoutVerdict(withBand(estimate, [open.estimate.peak]), 'open-branch'), open };
}

/** No verdict holds while words of the launch are not known that stand there for certain: they are flags of the run. */
export function withoutWords(
  estimate: Estimate,
  unread: readonly Unread[],
): { readonly estimate: Estimate; readonly words?: Unread } {
  const words = unread.find(({ holdsWords }) => holdsWords);
  if (!words || estimate.verdict === 'unknown') return { estimate };
  return { estimate: withoutVerdict(estimate, 'open-words'), words };
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
  const tried = values.flatMap((value) => (value.estimate ? [value.estimate.peak] : []));
  const widened = withBand(estimate, tried);
  const value = estimate.verdict === 'unknown' ? undefined : otherVerdict(estimate, values);
  return value ? { estimate: withoutVerdict(widened, 'open-value'), value } : { estimate: widened };
}

/** `Needs 34.4 of 79.1 GiB on H100, and 57.2 GiB by what else ...`. */
export const openValueWords = (figures: string, { unread, estimate }: AnsweredValue): string =>
  estimate
    ? say(
        'Needs about {0}, and {1} by what else `{2}` may mean, which is not known.',
        figures,
        // Of another card there is another memory.
        unread.fields?.includes('hardware.gpu')
          ? formatBytesOf(estimate.peak.processBytes, estimate.capacityBytes)
          : formatBytes(estimate.peak.processBytes),
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
