import type { Breakdown } from '../../server/src/shared/protocol';
import { CATEGORIES } from '../../server/src/shared/protocol';
import { formatBytes, HOST_MOMENT_LABELS } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { dataTable } from './data-table';
import { h } from './element';
import { type ChartRow, drawRows } from './row-chart';
import { sentence } from './sentence';
import { t, translated } from './strings';

/** Memory of a node's host by part, against what it has where the run states it. */
export function hostSection(
  { host }: Breakdown,
  announcer: Announcer,
): { readonly element: HTMLElement; readonly chart: ChartFrame } | undefined {
  const parts = host?.parts.filter(({ bytes }) => bytes > 0) ?? [];
  if (!host || parts.length === 0) return undefined;
  // Colours tell the parts apart and mean nothing more: components of a GPU are others.
  const segments = parts.map(({ bytes }, i) => ({
    value: bytes,
    category: CATEGORIES[i % CATEGORIES.length] ?? CATEGORIES[0],
  }));
  const rows: ChartRow[] = parts.map(({ label, bytes }, i) => ({
    label: translated(label),
    figure: formatBytes(bytes),
    segments: segments.slice(i, i + 1),
  }));
  // What a node has holds for all parts together.
  const limit = host.capacityBytes;
  if (parts.length > 1 || limit)
    rows.unshift({ label: t('total'), figure: formatBytes(host.bytesPerNode), segments, limit });
  const moment = translated(HOST_MOMENT_LABELS[host.moment]);
  const whole = t('hostText', formatBytes(host.bytesPerNode), moment).trim();
  const hint = host.capacityBytes
    ? `${whole}. ${sentence(t('usable', t('hostCapacity', formatBytes(host.capacityBytes))))}.`
    : `${whole}.`;
  const chart = new ChartFrame(
    {
      key: 'host',
      label: `${t('hostTable')}. ${hint}`,
      hint,
      items: rows.map(({ label, figure }) => ({ text: `${label}: ${figure}` })),
      draw: (width) => drawRows(rows, width),
    },
    announcer,
  );
  const cells = rows.map(({ label, figure }) => [label, figure]);
  const element = h(
    'section',
    {},
    h('h2', {}, t('hostMemory')),
    chart.element,
    h(
      'details',
      { 'data-key': 'host-table' },
      h('summary', {}, t('figures')),
      dataTable(t('hostTable'), [t('part'), t('peak')], cells, { numbers: [1] }),
    ),
  );
  return { element, chart };
}
