import type { Breakdown, Category, ComputeEstimate, RatedSeconds } from '../../server/src/shared/protocol';
import { decimal, formatDuration, formatFlops } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { dataTable } from './data-table';
import { h } from './element';
import { FigureTree } from './figure-tree';
import type { OpenedFigures } from './opened-figures';
import { type ChartRow, drawRows } from './row-chart';
import { type StringId, t } from './strings';

interface ComputeView {
  readonly nodes: readonly Node[];
  readonly charts: readonly ChartFrame[];
  update(): void;
}

type Kind = readonly [StringId, Category, number];

/** Work of a step by kind and by operator, and the lower bounds of its time. */
export function computeView(
  { compute }: Breakdown,
  announcer: Announcer,
  opened: OpenedFigures,
): ComputeView | undefined {
  if (!compute) return undefined;
  const kinds = kindsOf(compute).filter(([, , flops]) => flops > 0);
  const rows = kinds.map(([name, category, flops]): ChartRow => {
    const figure = `${formatFlops(flops)} (${decimal((100 * flops) / compute.flopsPerStep, 0)} %)`;
    return { label: t(name), figure, segments: [{ value: flops, category }] };
  });
  const work = chartOf('work', t('workChart', rows.length), t('workHint'), rows, announcer);
  const rated = compute.time ? ratedOf(compute.time.ratedSeconds) : [];
  const bounds =
    rated.length > 0 ? chartOf('rated', t('ratedChart'), t('ratedHint'), rated, announcer) : undefined;
  const tree = operatorTree(opened);
  return {
    nodes: [
      section(
        t('workByKind'),
        work.element,
        figures('work-table', t('workChart', rows.length), t('work1'), t('work'), rows),
        tree.element,
      ),
      ...(bounds
        ? [
            section(
              t('ratedTitle'),
              bounds.element,
              figures('rated-table', t('ratedChart'), t('work1'), t('seconds'), rated),
            ),
          ]
        : []),
    ],
    charts: bounds ? [work, bounds] : [work],
    update: () => tree.update(),
  };
}

function kindsOf(compute: ComputeEstimate): Kind[] {
  const { flopsPerStep, forwardFlopsPerStep, recomputedFlopsPerStep, referenceFlopsPerStep } = compute;
  const backward = flopsPerStep - forwardFlopsPerStep - recomputedFlopsPerStep - referenceFlopsPerStep;
  return [
    ['forwardWork', 'activations', forwardFlopsPerStep],
    ['backwardWork', 'gradients', backward],
    ['recomputedWork', 'checkpoints', recomputedFlopsPerStep],
    ['referenceWork', 'reference-model', referenceFlopsPerStep],
  ];
}

function ratedOf(seconds: RatedSeconds): ChartRow[] {
  const kinds: readonly Kind[] = [
    ['computing', 'activations', seconds.computing],
    ['optimizerTime', 'optimizer-states', seconds.optimizer],
    ['dataParallelTime', 'communication-buffers', seconds.dataParallel],
    ['tensorParallelTime', 'gathered-parameters', seconds.tensorParallel],
    ['offloadTime', 'reserved-for-others', seconds.offload],
  ];
  return kinds.flatMap(([name, category, value]) =>
    value > 0 ? { label: t(name), figure: formatDuration(value), segments: [{ value, category }] } : [],
  );
}

function chartOf(
  key: string,
  label: string,
  hint: string,
  rows: readonly ChartRow[],
  announcer: Announcer,
): ChartFrame {
  const items = rows.map((row) => ({ text: `${row.label}: ${row.figure}` }));
  return new ChartFrame({ key, label, hint, items, draw: (width) => drawRows(rows, width) }, announcer);
}

function figures(key: string, caption: string, name: string, value: string, rows: readonly ChartRow[]) {
  const cells = rows.map((row) => [row.label, row.figure]);
  return h(
    'details',
    { 'data-key': key },
    h('summary', {}, t('figures')),
    dataTable(caption, [name, value], cells, { numbers: [1] }),
  );
}

/** FLOPs down to operators, asked for when it is opened. */
function operatorTree(opened: OpenedFigures): { element: HTMLElement; update(): void } {
  const status = h('p', { class: 'quiet' });
  const tree = new FigureTree({
    key: 'work',
    label: t('workTable'),
    columns: [t('work1'), t('work'), t('share')],
    open: opened.rows,
    rowOf: (node, parent) => ({
      name: node.name,
      value: formatFlops(node.value),
      share: parent.value > 0 ? `${decimal((100 * node.value) / parent.value, 1)} %` : '',
      formula: node.formula,
      node,
    }),
    ask: () => opened.ask('peak'),
  });
  const element = h(
    'details',
    { 'data-key': 'operators' },
    h('summary', {}, t('byOperator')),
    status,
    h('div', { class: 'wide' }, tree.element),
  );
  const update = () => {
    if (!element.open) return;
    opened.ask('peak');
    const failure = opened.failure('peak');
    const figure = opened.answer('peak')?.figures.find(({ id }) => id === 'FLOPs per step');
    status.textContent = figure ? '' : (failure ?? t('opening'));
    status.hidden = figure !== undefined;
    tree.element.hidden = figure === undefined;
    if (!figure) return;
    const parts = figure.children ?? [figure];
    tree.show(
      parts.map((node) => ({
        name: node.name,
        value: formatFlops(node.value),
        share: figure.value > 0 ? `${decimal((100 * node.value) / figure.value, 1)} %` : '',
        formula: node.formula,
        node,
      })),
      failure,
    );
  };
  element.addEventListener('toggle', update);
  return { element, update };
}

function section(title: string, ...children: Node[]): HTMLElement {
  return h('section', {}, h('h2', {}, title), ...children);
}
