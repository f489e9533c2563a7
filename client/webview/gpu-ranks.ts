import type { RankFigures } from '../../server/src/features/protocol';
import { formatBytes } from '../../server/src/wording/figures';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { componentLabel, stackOrder } from './components';
import { dataTable } from './data-table';
import { h } from './element';
import { drawRows } from './row-chart';
import { t } from './strings';

/** Each pipeline stage's GPUs, where they differ: the fullest decides, the others show what balancing would give. */
export function ranksSection(
  ranks: readonly RankFigures[],
  capacity: number,
  announcer: Announcer,
): { readonly element: HTMLElement; readonly chart: ChartFrame } {
  const most = Math.max(...ranks.map(({ processBytes }) => processBytes));
  const names = ranks.map(({ first, last }) =>
    first === last ? t('gpuOne', first) : t('gpuRange', first, last),
  );
  const rows = ranks.map((rank, i) => ({
    label: names[i] ?? '',
    figure: formatBytes(rank.processBytes),
    segments: stackOrder(rank.parts).map(({ bytes, category }) => ({ value: bytes, category })),
  }));
  const largest = ({ parts }: RankFigures) => {
    const [part] = [...parts].sort((a, b) => b.bytes - a.bytes);
    return part
      ? t('mostOf', `${componentLabel(part.category).toLowerCase()} ${formatBytes(part.bytes)}`)
      : '';
  };
  const text = (rank: RankFigures, i: number) =>
    t(
      'rankText',
      names[i] ?? '',
      `${formatBytes(rank.processBytes)}${rank.processBytes === most ? `, ${t('fullest')}` : ''}`,
      `${rank.label}, ${largest(rank)}`,
    );
  const chart = new ChartFrame(
    {
      key: 'ranks',
      label: t('ranksChart', ranks.length),
      hint: t('ranksHint'),
      items: ranks.map((rank, i) => ({ text: text(rank, i) })),
      draw: (width) => drawRows(rows, width, capacity),
    },
    announcer,
  );
  const table = dataTable(
    t('ranksChart', ranks.length),
    [t('ranks'), t('where'), t('peak')],
    ranks.map((rank, i) => [names[i] ?? '', rank.label, formatBytes(rank.processBytes)]),
    [2],
  );
  const element = h(
    'section',
    {},
    h('h2', {}, t('ranks')),
    chart.element,
    h('details', { 'data-key': 'ranks-table' }, h('summary', {}, t('figures')), table),
  );
  return { element, chart };
}
