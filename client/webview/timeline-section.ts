import type { Breakdown, Sample } from '../../server/src/shared/protocol';
import { formatBytes, say } from '../../server/src/shared/words';
import { aliveTexts } from './alive-tensors';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { ComponentTable, gib } from './component-table';
import { heldCategories, stackOrder } from './components';
import { dataTable } from './data-table';
import { button, h } from './element';
import { legend } from './legend';
import type { OpenedFigures } from './opened-figures';
import type { PanelState } from './panel-state';
import { sentence } from './sentence';
import {
  drawTimeline,
  highest,
  momentName,
  phases,
  type StepDrawing,
  sampleText,
  spansOf,
} from './step-timeline';
import { t } from './strings';
import { Zoom } from './zoom';

/** A pointer that only passes by asks for nothing. */
const REST_MS = 120;

interface TimelineSection {
  readonly element: HTMLElement;
  readonly chart: ChartFrame;
  update(): void;
  dispose(): void;
}

/** Memory over the moments of a run; each opens to the tensors that are alive then. */
export function timelineSection(
  breakdown: Breakdown,
  announcer: Announcer,
  opened: OpenedFigures,
  state: Pick<PanelState, 'zoom'>,
): TimelineSection {
  const samples = breakdown.timeline;
  const peak = samples[highest(samples)];
  // The heading counts these; moments do not have their own.
  const above = breakdown.peak ? breakdown.peak.processBytes - breakdown.peak.allocatedBytes : 0;
  const chosen = h('div', { class: 'chosen-sample' });
  let table: ComponentTable | undefined;
  let pointed: number | undefined;
  let resting: number | undefined;
  const open = (index: number | undefined): void => {
    const sample = index === undefined ? undefined : samples[index];
    opened.sample = sample && index;
    table = undefined;
    chosen.replaceChildren();
    if (!sample || index === undefined) return;
    table = new ComponentTable(stackOrder(sample.parts), index, opened, {
      label: t('sampleTable', sample.label),
    });
    chosen.append(
      h(
        'h3',
        {},
        sentence(sample.label),
        button(t('close'), { class: 'link', 'data-key': 'close-sample' }, () => open(undefined)),
      ),
      h('div', { class: 'wide' }, table.tree.element),
    );
  };
  const tellAlive = (): void => {
    const sample = pointed === undefined ? undefined : samples[pointed];
    const answer = pointed === undefined ? undefined : opened.answer(pointed);
    if (!sample || !answer || answer.memory.value !== sample.bytes) return;
    const { lines, spoken } = aliveTexts(answer.memory);
    chart.tell([sampleText(sample), ...lines].join('\n'));
    if (document.activeElement?.getAttribute('data-key') === 'timeline') {
      announcer.say(`${sampleText(sample)}. ${spoken}`);
    }
  };
  let drawing: StepDrawing | undefined;
  const chart: ChartFrame = new ChartFrame(
    {
      key: 'timeline',
      label: t('stepChart', samples.length),
      hint: peak ? t('stepHint', sampleText(peak)) : t('stepHintPlain'),
      items: samples.map((sample) => ({ text: sampleText(sample) })),
      landmarks: phases(samples).map(({ start }) => start),
      onOpen: (index) => open(index),
      onChoose: (index) => {
        pointed = index;
        window.clearTimeout(resting);
        if (index === undefined) return;
        const span = spans[index];
        if (span) zoom.reveal(span);
        resting = window.setTimeout(() => {
          opened.ask(index);
          tellAlive();
        }, REST_MS);
      },
      draw: (width) => {
        drawing = drawTimeline(samples, breakdown.hardware?.capacityBytes ?? 0, width, zoom.view);
        return drawing;
      },
    },
    announcer,
  );
  const spans = spansOf(samples);
  const whole = { from: 0, to: spans.at(-1)?.to ?? 1 };
  const all = button(t('showAll'), { class: 'link', 'data-key': 'timeline-all' }, () => {
    zoom.reset();
    chart.canvas.focus();
  });
  const zoom = new Zoom(chart.canvas, {
    whole,
    view: state.zoom,
    // Two layers side by side are as near as it gets.
    least: Math.min(2, whole.to),
    placeOf: (event) => drawing?.placeAt(event),
    middle: () => {
      const { from, to } = spans[pointed ?? highest(samples)] ?? whole;
      return (from + to) / 2;
    },
    dragged: (stretch) => drawing?.pick(stretch),
    changed: () => {
      state.zoom = zoom.view;
      all.hidden = zoom.view === undefined;
      chart.redraw();
      announcer.say(
        zoom.view
          ? t('zoomedIn', Math.round((100 * (zoom.view.to - zoom.view.from)) / whole.to))
          : t('zoomedOut'),
      );
    },
  });
  all.hidden = zoom.view === undefined;
  const details = samplesTable(samples, (index) => {
    open(index);
    chosen.scrollIntoView({ block: 'nearest' });
  });
  open(opened.sample);
  return {
    element: h(
      'section',
      {},
      h('h2', {}, t('overStep')),
      ...(above > 0 ? [h('p', { class: 'quiet' }, t('aboveTensors', formatBytes(above)))] : []),
      legend(heldCategories(samples)),
      chart.element,
      h('p', { class: 'quiet zoom-hint' }, `${t('zoomHint')} `, all),
      chosen,
      details,
    ),
    chart,
    update() {
      table?.update();
      tellAlive();
    },
    dispose: () => window.clearTimeout(resting),
  };
}

/** The figures of the chart as a folded table; each row opens its sample. */
function samplesTable(samples: readonly Sample[], open: (index: number) => void): HTMLElement {
  const rows = samples.map((sample, index) => [
    button(sample.label, { class: 'link', 'data-key': `sample-${index}` }, () => open(index)),
    momentName(sample.moment),
    gib(sample.bytes),
  ]);
  return h(
    'details',
    { 'data-key': 'timeline-table' },
    h('summary', {}, t('figures')),
    dataTable(t('stepTable'), [t('where'), t('moment'), say('GiB')], rows, { numbers: [2] }),
  );
}
