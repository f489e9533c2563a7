import type { Breakdown, Difference } from '../../server/src/shared/protocol';
import { fieldLabel, formatBytes } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { changesTable, LEAST_SECONDS, signedBytes, timeChange } from './changes';
import { ChartFrame } from './chart-frame';
import { componentLabel, heldCategories, stackOrder } from './components';
import { dataTable, namedRows } from './data-table';
import { button, figuresKept, h } from './element';
import { ranksSection } from './gpu-ranks';
import { verdictText } from './headline';
import { legend } from './legend';
import type { PageMessage } from './messages';
import type { PanelState } from './panel-state';
import { drawRows } from './row-chart';
import { breakable, sentence } from './sentence';
import { t } from './strings';

interface CompareView {
  readonly nodes: readonly Node[];
  readonly charts: readonly ChartFrame[];
}

/** Two runs side by side with what makes the difference; or the ways to choose the other one. */
export function compareView(
  { compared, openRanks }: Pick<PanelState, 'compared' | 'openRanks'>,
  announcer: Announcer,
  send: (message: PageMessage) => void,
  stop: () => void,
): CompareView {
  const start = h(
    'p',
    { class: 'buttons' },
    button(t('compareGit'), { 'data-key': 'compare-git', class: 'secondary' }, () =>
      send({ type: 'compare', with: 'git' }),
    ),
    button(t('compareCommit'), { 'data-key': 'compare-commit', class: 'secondary' }, () =>
      send({ type: 'compare', with: 'commit' }),
    ),
    button(t('compareFile'), { 'data-key': 'compare-file', class: 'secondary' }, () =>
      send({ type: 'compare', with: 'file' }),
    ),
    button(t('compareReleases'), { 'data-key': 'compare-releases', class: 'secondary' }, () =>
      send({ type: 'compare', with: 'releases' }),
    ),
    compared?.comparison
      ? button(t('stopComparing'), { 'data-key': 'compare-stop', class: 'secondary' }, stop)
      : null,
  );
  const hint = h('p', { class: 'quiet' }, t('compareHint'));
  const { comparison } = compared ?? {};
  if (!comparison) {
    const failure = compared?.error ? h('p', { role: 'alert' }, compared.error) : undefined;
    return { nodes: [h('section', {}, hint, start, ...(failure ? [failure] : []))], charts: [] };
  }
  const names = [compared?.before ?? t('was'), compared?.after ?? t('after')] as const;
  const both = [comparison.before, comparison.after] as const;
  const chart = bars(names, both, announcer);
  const sides = both.map((breakdown, i) => ({ name: names[i], breakdown }));
  const ranks = ranksSection('ranks-compared', sides, announcer, openRanks);
  const { differences } = comparison;
  const hasEffect = ({ bytes, seconds = 0 }: Difference) => bytes !== 0 || Math.abs(seconds) >= LEAST_SECONDS;
  const costly = differences.filter(hasEffect);
  const idle = differences.filter((difference) => !hasEffect(difference));
  return {
    nodes: [
      h(
        'section',
        {},
        h('h2', {}, t('comparedWith', names[1], names[0])),
        h(
          'ul',
          { class: 'plain' },
          h('li', {}, `${names[0]}: ${verdictText(comparison.before)}`),
          h('li', {}, `${names[1]}: ${verdictText(comparison.after)}`),
        ),
        start,
      ),
      h(
        'section',
        {},
        h('h2', {}, t('reasons')),
        differences.length === 0 ? h('p', {}, t('noDifference')) : null,
        costly.length > 0 ? scrolled(t('reasons'), differenceTable(costly, names)) : null,
        idle.length > 0
          ? h('p', { class: 'quiet' }, t('withoutEffect', idle.map(idleWords).join(', ')))
          : null,
      ),
      h(
        'section',
        {},
        h('h2', {}, t('sideBySide')),
        chart.element,
        legend(heldCategories(both)),
        scrolled(t('sideBySide'), changesTable(comparison.before, comparison.after, names)),
      ),
      ...(ranks ? [ranks.element] : []),
    ],
    charts: ranks ? [chart, ranks.chart] : [chart],
  };
}

/** A table that scrolls where it is wider than the panel: keys reach it, too. */
function scrolled(label: string, table: HTMLElement): HTMLElement {
  return h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': label }, table);
}

/** Of versions a person wants to know which: `PyTorch version 2.3.0 → 2.9.0`. */
function idleWords({ fields, before, after }: Difference): string {
  const name = fields.map(fieldLabel).join(', ');
  return fields.every((field) => field.startsWith('version.')) ? `${name} ${before} → ${after}` : name;
}

function bars(
  names: readonly [string, string],
  both: readonly Breakdown[],
  announcer: Announcer,
): ChartFrame {
  const rows = both.map((breakdown, i) => ({
    label: names[i] ?? '',
    figure: formatBytes(breakdown.peak?.processBytes ?? 0),
    segments: stackOrder(breakdown.parts).map(({ bytes, category }) => ({ value: bytes, category })),
    limit: breakdown.hardware?.capacityBytes,
  }));
  const text = (i: number) => {
    const parts = [...(both[i]?.parts ?? [])].sort((a, b) => b.bytes - a.bytes).slice(0, 3);
    return `${rows[i]?.label}: ${rows[i]?.figure}, ${parts
      .map(({ category, bytes }) => `${componentLabel(category).toLowerCase()} ${formatBytes(bytes)}`)
      .join(', ')}`;
  };
  const usable = new Set(both.map(({ hardware }) => formatBytes(hardware?.capacityBytes ?? 0)));
  return new ChartFrame(
    {
      key: 'compared',
      label: `${t('sideBySide')}: ${rows.map(({ label, figure }) => `${label} ${figure}`).join(', ')}.`,
      hint: sentence(t('usable', [...usable].join(' → '))),
      items: rows.map((_, i) => ({ text: text(i) })),
      draw: (width) => drawRows(rows, width),
    },
    announcer,
  );
}

/** How the time changes, and below it the speed, whose words may take several lines. */
function timeAndSpeed(seconds: number | undefined, speed: string | undefined): HTMLElement {
  const below = speed === undefined ? null : h('span', { class: 'below' }, ...figuresKept(speed));
  return h('span', {}, timeChange(seconds, undefined), below);
}

function differenceTable(
  differences: readonly Difference[],
  names: readonly [string, string],
): HTMLTableElement {
  return dataTable(
    t('differencesTable'),
    [t('difference'), ...names, t('costs'), t('stepTime')],
    differences.map(({ fields, before, after, bytes, seconds, speed }) => [
      namedRows(breakable(fields.map(fieldLabel).join(', ')), t('becomes', before, after)),
      before,
      after,
      signedBytes(bytes),
      timeAndSpeed(seconds, speed),
    ]),
    { numbers: [3, 4], wide: [1, 2] },
  );
}
