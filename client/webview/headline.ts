import type { Breakdown } from '../../server/src/shared/protocol';
import {
  fieldLabel,
  formatBytes,
  formatBytesOf,
  foundBatchLabel,
  joinWords,
  MOMENT_LABELS,
  mayNotFit,
  tokensOfVerdict,
  unreadSentence,
} from '../../server/src/shared/words';
import { button, h, svg } from './element';
import { t, translated } from './strings';
import type { TriedChange } from './tried-history';

/** The answer in one line: `Fits: 61.3 of 79.2 GiB`, with the micro batch that it is of where the framework looks for one. */
export function verdictText(breakdown: Breakdown): string {
  const { foundBatch } = breakdown;
  const answer = answerText(breakdown);
  return foundBatch ? `${answer} (${foundBatchLabel(foundBatch)})` : answer;
}

function answerText(breakdown: Breakdown): string {
  const { peak, hardware, verdict } = breakdown;
  if (!peak && breakdown.diagnostics.some(({ code }) => code === 'syntax')) return t('fixSyntax');
  if (!peak || !hardware) {
    const missing = joinWords(breakdown.unknown.map(({ field }) => fieldLabel(field)));
    return missing ? t('needs', missing) : t('noEstimate');
  }
  if (verdict === 'unknown') {
    // A feature that is not modelled: a figure, and no verdict.
    return t('noVerdict', formatBytesOf(peak.processBytes, hardware.capacityBytes));
  }
  if (verdict === 'exceeds') {
    const excess = peak.processBytes - hardware.capacityBytes;
    const at = tokensOfVerdict(breakdown.open);
    // The band can reach over the limit while its middle does not.
    if (excess <= 0) {
      const figures = formatBytesOf(peak.processBytes, hardware.capacityBytes);
      return at === undefined ? t('exceeds', figures) : t('exceedsAt', at, figures);
    }
    return at === undefined
      ? t('missingBytes', formatBytes(excess))
      : t('missingBytesAt', at, formatBytes(excess));
  }
  const { processBytes } = peak;
  const tight = mayNotFit(verdict, processBytes, hardware.capacityBytes) ? 'mayNotFit' : 'tight';
  return t(verdict === 'fits' ? 'fits' : tight, formatBytesOf(processBytes, hardware.capacityBytes));
}

/** When the peak is, how sure the figure is, and what is left. */
export function peakText(breakdown: Breakdown): string | undefined {
  const { peak, hardware } = breakdown;
  if (!peak || !hardware) {
    return undefined;
  }
  const free = hardware.capacityBytes - peak.processBytes;
  const room =
    free >= 0
      ? t('free', formatBytes(free))
      : t('neededOf', formatBytes(peak.processBytes), formatBytes(hardware.capacityBytes));
  const worst = breakdown.ranks ? t('fullestGpu', peak.rank) : t('perGpu');
  return t(
    'peakText',
    worst,
    translated(MOMENT_LABELS[peak.moment]),
    peak.label,
    formatBytes(peak.lowerBytes),
    formatBytes(peak.upperBytes),
    room,
  );
}

/** More than this is no headline. */
const MOST_DECIDING = 2;

interface HeadlineOptions {
  /** What stands behind the figures, for those who ask. */
  readonly more: HTMLElement | undefined;
  /** The other answer to what nobody states; undefined where nothing can be tried. */
  readonly onTry: ((change: TriedChange) => void) | undefined;
}

export function headline(breakdown: Breakdown, { more, onTry }: HeadlineOptions): HTMLElement {
  const detail = peakText(breakdown);
  // Figures of a run that was not read whole are not taken for those of the run.
  const unread = breakdown.peak ? unreadSentence(breakdown.notUnderstood ?? []) : '';
  return h(
    'div',
    { class: `headline ${breakdown.verdict}` },
    icon(breakdown.verdict),
    h(
      'div',
      {},
      h('h1', {}, verdictText(breakdown)),
      detail ? h('p', { class: 'quiet' }, detail, more ? ' ' : null, more) : null,
      unread ? h('p', { class: 'quiet unread' }, unread) : null,
      // What decides most; the rest stands with the assumptions.
      ...(breakdown.open ?? [])
        .slice(0, MOST_DECIDING)
        .map((decision, index) => deciding(decision, index, onTry)),
    ),
  );
}

/** What is assumed, with the other answer a click away. */
function deciding(
  { sentence, otherwise }: NonNullable<Breakdown['open']>[number],
  index: number,
  onTry: HeadlineOptions['onTry'],
): HTMLElement {
  if (!otherwise || !onTry) return h('p', { class: 'quiet deciding' }, sentence);
  const { words: name, changes: values } = otherwise;
  const tryIt = button(t('tryFix'), { class: 'link', 'data-key': `try-deciding-${index}` }, () =>
    onTry({ name, values }),
  );
  tryIt.setAttribute('aria-label', t('tryFixNamed', name));
  return h('p', { class: 'quiet deciding' }, sentence, ' ', tryIt);
}

function icon(verdict: Breakdown['verdict']): SVGSVGElement {
  const marks: Record<Breakdown['verdict'], string> = {
    fits: 'M6.5 11.2 3.9 8.6l.9-.9 1.7 1.7 4.7-4.7.9.9z',
    tight: 'M7.3 4h1.4v5H7.3zm0 6.2h1.4v1.5H7.3z',
    exceeds: 'm5.3 4.4 2.7 2.7 2.7-2.7.9.9L8.9 8l2.7 2.7-.9.9L8 8.9l-2.7 2.7-.9-.9L7.1 8 4.4 5.3z',
    unknown: 'M4 7.3h8v1.4H4z',
  };
  return svg(
    'svg',
    { class: 'verdict-icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    verdict === 'tight'
      ? svg('path', { class: 'disc', d: 'M8 .8 15.7 14.6H.3z' })
      : svg('circle', { class: 'disc', cx: 8, cy: 8, r: 7.5 }),
    svg('path', { class: 'mark', d: marks[verdict] }),
  );
}
