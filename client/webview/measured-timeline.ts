import { scaleLinear } from 'd3-scale';
import type { Category, MeasuredTimeline } from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { dataTable } from './data-table';
import { h, svg } from './element';
import { gibAxis, limitLine, placeMark, stretchMark } from './gib-axis';
import { swatch } from './legend';
import { stackedLayers } from './stacked-layers';
import type { TimelineDrawing } from './step-timeline';
import { type StringId, t } from './strings';

type Phase = MeasuredTimeline['alive'][number]['phase'];
type Point = MeasuredTimeline['points'][number];

/**
 * Phases from the ground up, each in the colour of what it mostly makes, so that the estimate's layers above and these
 * correspond.
 */
const PHASES: readonly (readonly [phase: Phase, label: StringId, colour: Category])[] = [
  ['older', 'phaseOlder', 'weights'],
  ['optimizer', 'phaseOptimizer', 'optimizer-states'],
  ['backward', 'phaseBackward', 'gradients'],
  ['forward', 'phaseForward', 'activations'],
  ['other', 'phaseOther', 'communication-buffers'],
];

const HEIGHT = 190;
const PLOT = { top: 20, bottom: HEIGHT - 8 } as const;

function phaseLabel(phase: Phase): string {
  const known = PHASES.find(([one]) => one === phase);
  return t(known ? known[1] : 'phaseOther');
}

function pointText({ bytes, phases }: Point): string {
  const held = PHASES.filter(([phase]) => phases[phase] > 0)
    .sort(([a], [b]) => phases[b] - phases[a])
    .map(([phase, label]) => `${t(label)} ${formatBytes(phases[phase])}`);
  return `${formatBytes(bytes)}: ${held.join(', ')}`;
}

/** What was really allocated, under the estimate's layers: by the phase that asked for it, and by the calls of the code. */
export function measuredTimelineView(
  { points, alive, olderBytes, device }: MeasuredTimeline,
  capacity: number,
  announcer: Announcer,
): { readonly element: HTMLElement; readonly chart: ChartFrame } {
  const highest = points.reduce<Point | undefined>(
    (most, point) => (point.bytes > (most?.bytes ?? 0) ? point : most),
    undefined,
  );
  const held = PHASES.filter(([phase]) => points.some(({ phases }) => phases[phase] > 0));
  const chart = new ChartFrame(
    {
      key: 'measured-timeline',
      label: t('measuredTimelineChart', points.length),
      hint: highest ? t('measuredTimelineHint', pointText(highest)) : '',
      items: points.map((point) => ({ text: pointText(point) })),
      draw: (width) => draw(points, capacity, width),
    },
    announcer,
  );
  const rows = [
    ...alive.map(({ call, phase, bytes, blocks, blockBytes, tensors }) => [
      call || t('noCall'),
      phaseLabel(phase),
      blocks > 1 ? `${formatBytes(bytes)} (${blocks} × ${formatBytes(blockBytes)})` : formatBytes(bytes),
      tensors.join(', ') || t('noTensorJoined'),
    ]),
    ...(olderBytes > 0 ? [[t('phaseOlder'), '', formatBytes(olderBytes), '']] : []),
  ];
  const head = [t('callOfCode'), t('moment'), t('aliveBytes'), t('tensorOfWalk')];
  return {
    chart,
    element: h(
      'div',
      {},
      h('h3', { class: 'heading-below' }, t('measuredTimelineTitle', device)),
      h(
        'p',
        { class: 'legend', 'aria-hidden': 'true' },
        ...held.map(([, label, colour]) => h('span', {}, swatch(colour), t(label))),
      ),
      chart.element,
      h(
        'details',
        { 'data-key': 'measured-calls' },
        h('summary', {}, t('measuredCalls')),
        dataTable(t('measuredCalls'), head, rows, { numbers: [2], wide: [0, 3] }),
      ),
    ),
  };
}

function draw(points: readonly Point[], capacity: number, width: number): TimelineDrawing {
  const axis = gibAxis(Math.max(capacity, ...points.map(({ bytes }) => bytes), 1), width, PLOT);
  const { y, left, right } = axis;
  const x = scaleLinear()
    .domain([0, Math.max(1, points.length)])
    .range([left, right]);
  const cursor = stretchMark('cursor', PLOT);
  const layers = stackedLayers(
    PHASES.map(([phase, , colour]) => ({ colour, bytes: points.map(({ phases }) => phases[phase]) })),
    (index) => [x(index), x(index + 1)],
    y,
  );
  const element = svg(
    'svg',
    { class: 'timeline', width, height: HEIGHT, 'aria-hidden': 'true' },
    ...axis.marks,
    ...layers,
    cursor,
    ...(capacity > 0 ? [limitLine(axis, capacity)] : []),
  );
  return {
    element,
    mark(index) {
      cursor.setAttribute('visibility', index === undefined ? 'hidden' : 'visible');
      if (index !== undefined) placeMark(cursor, x(index), x(index + 1), 1.5);
    },
    itemAt(event) {
      const index = Math.floor(x.invert(event.clientX - element.getBoundingClientRect().left));
      return index >= 0 && index < points.length ? index : undefined;
    },
  };
}
