import type { Breakdown, Category, Compared, Part } from '../../server/src/shared/protocol';
import { decimal, formatBytes } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { stackOrder } from './components';
import { dataTable } from './data-table';
import { h } from './element';
import { measuredTimelineView } from './measured-timeline';
import { type ChartRow, drawRows } from './row-chart';
import { sentence } from './sentence';
import { type StringId, t } from './strings';

/** What each kind of figure counts. */
const KINDS: Readonly<Record<Compared['kind'], StringId>> = {
  allocated: 'kindAllocated',
  active: 'kindActive',
  reserved: 'kindReserved',
  torch: 'kindTorch',
  process: 'kindProcess',
  host: 'kindHost',
};

const OUTSIDE: readonly Category[] = ['cuda-context'];
const HELD: readonly Category[] = [...OUTSIDE, 'allocator-overhead'];

/** What of the estimate has the same meaning as a figure: parts that add up to it, else the figure alone. */
function likeParts({ kind, estimatedBytes }: Compared, parts: readonly Part[]): ChartRow['segments'] {
  const left = kind === 'process' ? [] : kind === 'reserved' ? OUTSIDE : HELD;
  const own = stackOrder(parts.filter(({ category }) => !left.includes(category)));
  const sum = own.reduce((total, { bytes }) => total + bytes, 0);
  // Rounding may move a byte from one part to the next.
  return Math.abs(sum - estimatedBytes) <= own.length
    ? own.map(({ bytes, category }) => ({ value: bytes, category }))
    : [{ value: estimatedBytes }];
}

function differenceText({ difference, within }: Compared): string {
  const percent =
    difference === 0
      ? t('sameFigure')
      : `${difference > 0 ? '+' : '−'}${decimal(Math.abs(difference) * 100, 1)} %`;
  return `${percent}, ${within ? t('withinBand') : t('outsideBand')}`;
}

function sourceText({ source, rank, step }: Compared): string {
  return [
    source,
    ...(rank === undefined ? [] : [t('rankOf', rank)]),
    ...(step === undefined ? [] : [t('stepOf', step)]),
  ].join(', ');
}

/** A run that was made beside the estimate of its config, bar beside bar; undefined where none is at hand. */
export function measuredSection(
  { measured, parts, hardware }: Breakdown,
  announcer: Announcer,
): { readonly element: HTMLElement; readonly charts: readonly ChartFrame[] } | undefined {
  if (!measured || measured.compared.length === 0) return undefined;
  const limit = hardware?.capacityBytes;
  const rows = measured.compared.flatMap((one): ChartRow[] => [
    {
      label: t('measured'),
      figure: formatBytes(one.measuredBytes),
      segments: [{ value: one.measuredBytes }],
      heading: `${t(KINDS[one.kind])}: ${differenceText(one)}`,
      ...(limit ? { limit } : {}),
    },
    {
      label: t('estimated'),
      figure: formatBytes(one.estimatedBytes),
      segments: likeParts(one, parts),
      ...(limit ? { limit } : {}),
    },
  ]);
  const what = measured.changedSince ? t('measuredBefore', measured.run) : t('measuredHint', measured.run);
  // What the dashed line is.
  const hint = limit ? `${what} ${sentence(t('usable', formatBytes(limit)))}.` : what;
  const texts = measured.compared.flatMap((one) => [
    `${t(KINDS[one.kind])}, ${t('measured')}: ${formatBytes(one.measuredBytes)}, ${sourceText(one)}`,
    `${t(KINDS[one.kind])}, ${t('estimated')}: ${formatBytes(one.estimatedBytes)}, ${differenceText(one)}`,
  ]);
  const chart = new ChartFrame(
    {
      key: 'measured',
      label: `${t('measuredTitle')}. ${hint}`,
      hint,
      items: texts.map((text) => ({ text })),
      draw: (width) => drawRows(rows, width),
    },
    announcer,
  );
  const cells = measured.compared.map((one) => [
    t(KINDS[one.kind]),
    formatBytes(one.measuredBytes),
    formatBytes(one.estimatedBytes),
    differenceText(one),
    sourceText(one),
  ]);
  const head = [
    t('figure'),
    sentence(t('measured')),
    sentence(t('estimated')),
    t('measuredDifference'),
    t('statedBy'),
  ];
  const timeline = measured.timeline && measuredTimelineView(measured.timeline, limit ?? 0, announcer);
  const element = h(
    'section',
    {},
    h('h2', {}, t('measuredTitle')),
    chart.element,
    h(
      'details',
      { 'data-key': 'measured-table' },
      h('summary', {}, t('figures')),
      dataTable(t('measuredTitle'), head, cells, { numbers: [1, 2], wide: [3, 4] }),
    ),
    ...(timeline ? [timeline.element] : []),
  );
  return { element, charts: timeline ? [chart, timeline.chart] : [chart] };
}
