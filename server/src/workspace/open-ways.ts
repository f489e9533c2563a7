import { ABOVE_OF_OWN_CODE } from '../memory/bands';
import type { Estimate } from '../results/estimate';
import type { Unread } from '../run/unread';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import { otherVerdict, withBand, withoutVerdict } from './open-estimate';
import { answerSentence, type OpenAnswer } from './open-questions';
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

/** What of a run is code of its own, or a flag of a copy, beside which it may not fit. */
export interface AnsweredCode {
  readonly code: Unread;
  /** What nobody states and it may answer so that the run does not; undefined where there is only too little left. */
  readonly answer?: OpenAnswer;
}

/** Code of a run's own, or a flag of a copy: what it does to the run is not known. */
const codeOf = (unread: readonly Unread[] = []) =>
  unread.find(({ kind }) => kind === 'script') ?? unread.find(({ kind }) => kind === 'flag');

/** The same with room for what code of the run's own may take, of which no figure is known: it fits where it does with that. */
export function besideOwnCode(estimate: Estimate, unread: readonly Unread[] | undefined): Estimate {
  if (!codeOf(unread) || estimate.verdict !== 'fits') return estimate;
  const { peak, bands, capacityBytes } = estimate;
  const more = Math.max(0, ABOVE_OF_OWN_CODE - bands.allocated.above);
  const upperBytes = peak.upperBytes + Math.round(peak.allocatedBytes * more);
  const widened = withBand(estimate, [{ ...peak, upperBytes }]);
  return upperBytes <= capacityBytes ? widened : withoutVerdict(widened, 'open-code');
}

/**
 * A run that code or flags of its own have a part in fits where it does whatever they make of what nobody states, and where there is room for
 * the rest; else there is no verdict. `code` has the answer by which it would need most.
 */
export function overOwnCode(
  estimate: Estimate,
  unread: readonly Unread[],
  answers: (code: Unread) => readonly OpenAnswer[],
): { readonly estimate: Estimate; readonly code?: AnsweredCode } {
  const code = codeOf(unread);
  if (!code || estimate.verdict !== 'fits') return { estimate };
  const widened = besideOwnCode(estimate, unread);
  const worse = answers(code).flatMap((answer) =>
    answer.estimate && /^(?:tight|exceeds)$/.test(answer.estimate.verdict)
      ? [{ answer, peak: answer.estimate }]
      : [],
  );
  const [worst] = worse.sort((a, b) => b.peak.processBytes - a.peak.processBytes);
  if (!worst) return { estimate: widened, ...(widened.verdict === 'fits' ? {} : { code: { code } }) };
  const peaks = [widened.peak, ...worse.map(({ peak }) => peak)];
  return {
    estimate: withoutVerdict(withBand(estimate, peaks), 'open-code'),
    code: { code, answer: worst.answer },
  };
}

/** `Needs about 61.0 of 79.1 GiB on H100, as far as `train.py` does what is usual. No file names ...: with ... it would need 84.1 GiB.` */
export function openCodeWords(figures: string, { code, answer }: AnsweredCode): string {
  const needs =
    code.kind === 'script'
      ? say('Needs about {0}, as far as `{1}` does what is usual.', figures, code.text)
      : say('Needs about {0} without what `{1}` changes.', figures, code.text);
  return `${needs} ${answer ? answerSentence(answer) : code.message}`;
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
