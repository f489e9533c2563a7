import type { Breakdown, RankFigures } from '../../server/src/shared/protocol';
import { formatBytes, say } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { signedBytes } from './changes';
import { ChartFrame } from './chart-frame';
import { gib, share } from './component-table';
import { componentLabel, stackOrder } from './components';
import { dataTable, namedRows } from './data-table';
import { button, h } from './element';
import { type ChartRow, drawRows } from './row-chart';
import { sentence } from './sentence';
import { t } from './strings';

/** One run of those whose GPUs are shown. */
interface Side {
  /** Where there are several. */
  readonly name?: string;
  readonly breakdown: Breakdown;
  /** The run that it is changed from. */
  readonly before?: Breakdown;
}

interface Rank extends RankFigures {
  readonly name: string;
  readonly side: Side;
  /** The fullest of its run. */
  readonly decides: boolean;
}

/** What the dashed lines are: what a GPU of each run has. */
function limitsOf(sides: readonly Side[]): string[] {
  const bytes = new Set(sides.flatMap(({ breakdown }) => breakdown.hardware?.capacityBytes ?? []));
  return bytes.size > 0 ? [`${sentence(t('usable', [...bytes].map(formatBytes).join(' → ')))}.`] : [];
}

/**
 * Each pipeline stage's GPUs, of one run or of several below each other: the fullest decides, the others show what
 * balancing would give. Undefined where the GPUs of every run hold the same. `opened`: which is open, by `key`; kept by the
 * page while its content changes.
 */
export function ranksSection(
  key: string,
  sides: readonly Side[],
  announcer: Announcer,
  opened: Map<string, number>,
): { readonly element: HTMLElement; readonly chart: ChartFrame } | undefined {
  if (sides.every(({ breakdown }) => breakdown.ranks === undefined)) return undefined;
  const ranks = sides.flatMap(ranksOf);
  const caption = t('ranksChart', ranks.length);
  const chosen = h('div', { class: 'chosen-sample' });
  const draw = (): void => {
    const rank = ranks[opened.get(key) ?? -1];
    chosen.replaceChildren(...(rank ? componentsOf(key, rank, close) : []));
  };
  const close = (): void => {
    opened.delete(key);
    draw();
  };
  const open = (index: number): void => {
    opened.set(key, index);
    draw();
    chosen.scrollIntoView({ block: 'nearest' });
  };
  draw();
  const chart = new ChartFrame(
    {
      key,
      label: caption,
      hint: [t('ranksHint'), ...limitsOf(sides)].join(' '),
      items: ranks.map((rank) => ({ text: textOf(rank) })),
      draw: (width) => drawRows(rowsOf(ranks), width),
      onOpen: open,
    },
    announcer,
  );
  const element = h(
    'section',
    {},
    h('h2', {}, t('ranks')),
    chart.element,
    chosen,
    h(
      'details',
      { 'data-key': `${key}-table` },
      h('summary', {}, t('figures')),
      tableOf(key, caption, ranks, open),
    ),
  );
  return { element, chart };
}

function ranksOf(side: Side): Rank[] {
  const ranks = stagesOf(side.breakdown);
  const most = Math.max(...ranks.map(({ processBytes }) => processBytes));
  return ranks.map((rank) => ({
    ...rank,
    side,
    name: rank.first === rank.last ? t('gpuOne', rank.first) : t('gpuRange', rank.first, rank.last),
    decides: ranks.length > 1 && rank.processBytes === most,
  }));
}

/** Where all GPUs hold the same, they are one stage. */
function stagesOf({ ranks, peak, hardware, parts }: Breakdown): readonly RankFigures[] {
  if (ranks) return ranks;
  if (!peak || !hardware) return [];
  const { processBytes, label } = peak;
  return [{ first: 0, last: hardware.gpus - 1, processBytes, label, parts }];
}

function rowsOf(ranks: readonly Rank[]): ChartRow[] {
  return ranks.map((rank, i) => ({
    label: rank.name,
    figure: formatBytes(rank.processBytes),
    segments: stackOrder(rank.parts).map(({ bytes, category }) => ({ value: bytes, category })),
    limit: rank.side.breakdown.hardware?.capacityBytes,
    heading: rank.side === ranks[i - 1]?.side ? undefined : rank.side.name,
  }));
}

function textOf({ name, side, processBytes, decides, label, parts }: Rank): string {
  const [largest] = [...parts].sort((a, b) => b.bytes - a.bytes);
  return t(
    'rankText',
    side.name === undefined ? name : `${side.name}, ${name}`,
    `${formatBytes(processBytes)}${decides ? `, ${t('fullest')}` : ''}`,
    largest
      ? `${label}, ${t('mostOf', `${componentLabel(largest.category).toLowerCase()} ${formatBytes(largest.bytes)}`)}`
      : label,
  );
}

/** What the same GPUs gained since the run before; undefined where they were not in one stage there. */
function changeOf({ first, last, processBytes, side: { before } }: Rank): number | undefined {
  if (!before) return undefined;
  const stage = stagesOf(before).find((other) => other.first <= first && last <= other.last);
  return stage && processBytes - stage.processBytes;
}

function tableOf(
  key: string,
  caption: string,
  ranks: readonly Rank[],
  open: (index: number) => void,
): HTMLTableElement {
  const isNamed = ranks.some(({ side }) => side.name !== undefined);
  const isChanged = ranks.some(({ side }) => side.before !== undefined);
  const head = [
    t('ranks'),
    ...(isNamed ? [t('run')] : []),
    t('where'),
    t('peak'),
    ...(isChanged ? [t('change')] : []),
  ];
  const rows = ranks.map((rank, i) => {
    const change = changeOf(rank);
    const name = button(rank.name, { class: 'link', 'data-key': `${key}-${i}` }, () => open(i));
    return [
      namedRows(name, [rank.side.name, rank.label].filter((text) => text !== undefined).join(', ')),
      ...(isNamed ? [rank.side.name ?? ''] : []),
      rank.label,
      formatBytes(rank.processBytes),
      ...(isChanged ? [change === undefined ? '' : signedBytes(change)] : []),
    ];
  });
  const peak = isNamed ? 3 : 2;
  return dataTable(caption, head, rows, {
    numbers: [peak, peak + 1],
    wide: isNamed ? [1, 2] : [1],
  });
}

/** The components of one stage's GPUs. */
function componentsOf(key: string, rank: Rank, close: () => void): Node[] {
  const title = [rank.side.name, rank.name, rank.label].filter((text) => text !== undefined).join(', ');
  const parts = stackOrder(rank.parts);
  const rows = parts.map(({ category, bytes }) => [
    componentLabel(category),
    gib(bytes),
    share(bytes, rank.processBytes),
  ]);
  return [
    h('h3', {}, title, button(t('close'), { class: 'link', 'data-key': `${key}-close` }, close)),
    dataTable(t('sampleTable', title), [t('component'), say('GiB'), t('share')], rows, { numbers: [1, 2] }),
  ];
}
