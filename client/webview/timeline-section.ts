import type { Breakdown, Sample } from '../../server/src/shared/protocol';
import { formatBytes, say } from '../../server/src/shared/words';
import { aliveTexts } from './alive-tensors';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { gib } from './component-table';
import { heldCategories } from './components';
import { dataTable } from './data-table';
import { button, h } from './element';
import { legend } from './legend';
import type { OpenedFigures } from './opened-figures';
import { OpenedSample } from './opened-sample';
import type { PanelState } from './panel-state';
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
import { type AxisRange, Zoom } from './zoom';

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
  const chosen = new OpenedSample(samples, opened);
  const tell = (index: number) => {
    const text = aliveText(samples, index, opened);
    if (text === undefined) return;
    // From here on there is room for the tensors that are named: what stands below moves this once, and not with the pointer.
    chart.element.classList.add('told');
    chart.tell(text.shown);
    if (document.activeElement?.getAttribute('data-key') === 'timeline') announcer.say(text.spoken);
  };
  const pointed = new PointedSample((index) => {
    opened.ask(index);
    tell(index);
  });
  let drawing: StepDrawing | undefined;
  const chart: ChartFrame = new ChartFrame(
    {
      key: 'timeline',
      label: t('stepChart', samples.length),
      hint: peak ? t('stepHint', sampleText(peak)) : t('stepHintPlain'),
      items: samples.map((sample) => ({ text: sampleText(sample) })),
      landmarks: phases(samples).map(({ start }) => start),
      onOpen: (index) => chosen.open(index),
      onChoose: (index) => {
        pointed.moveTo(index);
        const span = index === undefined ? undefined : spans[index];
        if (span) zoom.reveal(span);
      },
      draw: (width) => {
        drawing = drawTimeline(samples, breakdown.hardware?.capacityBytes ?? 0, width, zoom.view);
        return drawing;
      },
    },
    announcer,
  );
  const spans = spansOf(samples);
  const { zoom, hint } = timelineZoom(chart, spans, state, {
    drawing: () => drawing,
    at: () => pointed.index ?? highest(samples),
    say: (text) => announcer.say(text),
  });
  const details = samplesTable(samples, (index) => {
    chosen.open(index);
    chosen.element.scrollIntoView({ block: 'nearest' });
  });
  chosen.open(opened.sample);
  return {
    element: h(
      'section',
      {},
      h('h2', {}, t('overStep')),
      ...(above > 0 ? [h('p', { class: 'quiet' }, t('aboveTensors', formatBytes(above)))] : []),
      legend(heldCategories(samples)),
      chart.element,
      hint,
      chosen.element,
      details,
    ),
    chart,
    update() {
      chosen.update();
      if (pointed.index !== undefined) tell(pointed.index);
    },
    dispose: () => pointed.dispose(),
  };
}

/** What is in view of a chart whose samples span so much of its axis, and the line under it that shows all again. */
function timelineZoom(
  chart: ChartFrame,
  spans: readonly AxisRange[],
  state: Pick<PanelState, 'zoom'>,
  now: { drawing(): StepDrawing | undefined; at(): number; say(text: string): void },
): { readonly zoom: Zoom; readonly hint: HTMLElement } {
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
    placeOf: (event) => now.drawing()?.placeAt(event),
    middle: () => {
      const { from, to } = spans[now.at()] ?? whole;
      return (from + to) / 2;
    },
    dragged: (stretch) => now.drawing()?.pick(stretch),
    changed: () => {
      state.zoom = zoom.view;
      all.hidden = zoom.view === undefined;
      chart.redraw();
      now.say(zoomText(zoom.view, whole));
    },
  });
  all.hidden = zoom.view === undefined;
  return { zoom, hint: h('p', { class: 'quiet zoom-hint' }, `${t('zoomHint')} `, all) };
}

/** The sample that the pointer or the keys are at. */
class PointedSample {
  readonly #rested: (index: number) => void;
  #index: number | undefined;
  #timer: number | undefined;

  /** `rested`: they stayed there for a moment. */
  constructor(rested: (index: number) => void) {
    this.#rested = rested;
  }

  get index(): number | undefined {
    return this.#index;
  }

  moveTo(index: number | undefined): void {
    this.#index = index;
    this.dispose();
    if (index !== undefined) this.#timer = window.setTimeout(() => this.#rested(index), REST_MS);
  }

  dispose(): void {
    window.clearTimeout(this.#timer);
  }
}

/** The tensors that are alive at a sample, once they are known: as a tip shows them and as they are read out. */
function aliveText(
  samples: readonly Sample[],
  index: number,
  opened: OpenedFigures,
): { readonly shown: string; readonly spoken: string } | undefined {
  const sample = samples[index];
  const answer = opened.answer(index);
  if (!sample || !answer || answer.memory.value !== sample.bytes) return undefined;
  const { lines, spoken } = aliveTexts(answer.memory);
  const text = sampleText(sample);
  return { shown: [text, ...lines].join('\n'), spoken: `${text}. ${spoken}` };
}

/** What is in view after a zoom. */
function zoomText(view: AxisRange | undefined, whole: AxisRange): string {
  return view ? t('zoomedIn', Math.round((100 * (view.to - view.from)) / whole.to)) : t('zoomedOut');
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
