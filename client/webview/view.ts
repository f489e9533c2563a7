import type { Breakdown } from '../../server/src/features/protocol';
import { isFieldPath } from '../../server/src/run/fields';
import { formatBytes } from '../../server/src/wording/figures';
import { fieldLabel } from '../../server/src/wording/labels';
import type { Announcer } from './announcer';
import { assumptionTable } from './assumptions';
import { ChartFrame } from './chart-frame';
import { drawComponentBar } from './component-bar';
import { ComponentTable, gib, share } from './component-table';
import { componentLabel, stackOrder } from './components';
import { button, h } from './element';
import { headline } from './headline';
import type { PageMessage, PanelContent } from './messages';
import type { OpenedFigures } from './opened-figures';
import { OtherFigures } from './other-figures';
import { factList, runFacts } from './run-facts';
import { drawTimeline, highest, momentName, phases, sampleText } from './step-timeline';

export interface View {
  readonly nodes: readonly Node[];
  /** Opened figures have come. */
  update(): void;
  dispose(): void;
}

type Send = (message: PageMessage) => void;

export function view(content: PanelContent, announcer: Announcer, send: Send, opened: OpenedFigures): View {
  switch (content.kind) {
    case 'breakdown':
      opened.renew(content.breakdown.file);
      return breakdownView(content.file, content.breakdown, announcer, send, opened);
    case 'loading':
      return still(
        h('div', { class: 'progress', role: 'progressbar', 'aria-label': 'Estimating' }),
        h('h1', { class: 'waiting quiet' }, content.file ? `Estimating ${content.file}` : 'Estimating'),
      );
    case 'empty':
      return still(
        h(
          'div',
          { class: 'state' },
          h(
            'h1',
            {},
            content.file ? `${content.file} is not a training config` : 'No training config is open',
          ),
          h(
            'p',
            {},
            'Open a DeepSpeed JSON, an Accelerate YAML or another training config in the editor: its memory appears here and follows your edits.',
          ),
        ),
      );
    case 'error':
      return still(
        h(
          'div',
          { class: 'state', role: 'alert' },
          h('h1', {}, content.file ? `${content.file} could not be estimated` : 'No estimate'),
          h('p', {}, content.message),
          h(
            'p',
            { class: 'buttons' },
            button('Try Again', { 'data-key': 'retry' }, () => send({ type: 'retry' })),
            button('Show Output', { class: 'secondary', 'data-key': 'output' }, () =>
              send({ type: 'show-output' }),
            ),
          ),
        ),
      );
  }
}

function still(...nodes: Node[]): View {
  return { nodes, update: () => undefined, dispose: () => undefined };
}

/** Facts of the run by their names, and the figures that they open. */
const FIGURES: Readonly<Record<string, string>> = {
  Parameters: 'parameters',
  Hardware: 'usable memory',
  'Work per step': 'FLOPs per step',
  'Tokens per step': 'tokens per step',
  'Whole run': 'FLOPs of the run',
  'Time per step': 'time per step',
  Throughput: 'throughput',
  'Time of the run': 'time of the run',
  Energy: 'energy',
  Cost: 'cost',
  'Tokens per parameter': 'tokens per parameter',
  'Host memory': 'host memory',
  'In PyTorch’s terms': 'process',
};

function breakdownView(
  file: string,
  breakdown: Breakdown,
  announcer: Announcer,
  send: Send,
  opened: OpenedFigures,
): View {
  const charts: ChartFrame[] = [];
  const updates: (() => void)[] = [];
  const figures = breakdown.peak ? new OtherFigures(opened) : undefined;
  if (figures) updates.push(() => figures.update());
  const nodes: Node[] = [
    h(
      'header',
      {},
      h(
        'p',
        { class: 'origin quiet' },
        button(file, { class: 'link', 'data-key': 'file' }, () => send({ type: 'open-file' })),
        ` ${breakdown.dialect.name}`,
      ),
      headline(
        breakdown,
        figures &&
          button('Where the bounds come from', { class: 'link', 'data-key': 'bounds' }, () =>
            figures.reveal('upper bound'),
          ),
      ),
    ),
  ];
  if (breakdown.unknown.length > 0) {
    nodes.push(unknownSection(breakdown, send));
  }
  if (breakdown.peak && breakdown.parts.length > 0) {
    nodes.push(peakSection(breakdown, announcer, charts, opened, updates));
  }
  if (breakdown.timeline.length > 1) {
    nodes.push(timelineSection(breakdown, announcer, charts, opened, updates));
  }
  const facts = runFacts(breakdown);
  if (facts.length > 0) {
    const opener = (name: string) => {
      const figure = FIGURES[name];
      return figures && figure !== undefined ? () => figures.reveal(figure) : undefined;
    };
    nodes.push(section('Run', factList(facts, opener), ...(figures ? [figures.element] : [])));
  }
  if (breakdown.notes.length > 0) {
    nodes.push(section('Notes', h('ul', {}, ...breakdown.notes.map((note) => h('li', {}, note)))));
  }
  if (breakdown.assumptions.length > 0) {
    nodes.push(section('Assumptions', assumptionTable(breakdown.assumptions)));
  }
  return {
    nodes,
    update() {
      for (const update of updates) update();
    },
    dispose() {
      for (const chart of charts) {
        chart.dispose();
      }
    },
  };
}

function section(title: string, ...children: Node[]): HTMLElement {
  return h('section', {}, h('h2', {}, title), ...children);
}

function unknownSection(breakdown: Breakdown, send: Send): HTMLElement {
  const fields = breakdown.unknown.map(({ field }) => field);
  return section(
    'Missing',
    h(
      'ul',
      {},
      ...breakdown.unknown.map(({ field, reason }) =>
        h(
          'li',
          {},
          h('strong', {}, isFieldPath(field) ? sentence(fieldLabel(field)) : field),
          h('span', { class: 'quiet' }, ` ${reason}`),
        ),
      ),
    ),
    h(
      'p',
      { class: 'buttons' },
      button('Supply Missing Facts', { 'data-key': 'supply' }, () => send({ type: 'supply', fields })),
    ),
  );
}

function peakSection(
  breakdown: Breakdown,
  announcer: Announcer,
  charts: ChartFrame[],
  opened: OpenedFigures,
  updates: (() => void)[],
): HTMLElement {
  const parts = stackOrder(breakdown.parts);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const table = new ComponentTable(parts, 'peak', opened, {
    label: 'Memory of one GPU at the peak, by component',
    onHover: (index) => chart.choose(index),
  });
  updates.push(() => table.update());
  const chart: ChartFrame = new ChartFrame(
    {
      key: 'components',
      label: `Memory of one GPU at the peak, ${parts.length} components, ${formatBytes(total)} together.`,
      hint: 'One GPU at the worst moment of a step',
      items: parts.map((part) => ({
        text: `${componentLabel(part.category)}: ${gib(part.bytes)} GiB, ${share(part.bytes, total)}`,
      })),
      draw(width) {
        const { element, segments } = drawComponentBar(breakdown, parts, width);
        return {
          element,
          mark: (index) => emphasize(segments, index),
          itemAt: (event) => {
            const { target } = event;
            const index = segments.findIndex((segment) => target instanceof Node && segment.contains(target));
            return index < 0 ? undefined : index;
          },
        };
      },
      onChoose: (index) => emphasize(table.tree.roots, index),
      onOpen: (index) => {
        const part = parts[index];
        if (part) table.tree.reveal(componentLabel(part.category));
      },
    },
    announcer,
  );
  charts.push(chart);
  return section('At the peak', chart.element, h('div', { class: 'wide' }, table.tree.element));
}

function timelineSection(
  breakdown: Breakdown,
  announcer: Announcer,
  charts: ChartFrame[],
  opened: OpenedFigures,
  updates: (() => void)[],
): HTMLElement {
  const samples = breakdown.timeline;
  const peak = samples[highest(samples)];
  const chosen = h('div', { class: 'chosen-sample' });
  let table: ComponentTable | undefined;
  updates.push(() => table?.update());
  const open = (index: number | undefined): void => {
    const sample = index === undefined ? undefined : samples[index];
    opened.sample = sample && index;
    table = undefined;
    chosen.replaceChildren();
    if (!sample || index === undefined) return;
    table = new ComponentTable(stackOrder(sample.parts), index, opened, {
      label: `Memory of one GPU, ${sample.label}, by component`,
    });
    const close = () => open(undefined);
    chosen.append(
      h(
        'h3',
        {},
        sentence(sample.label),
        button('Close', { class: 'link', 'data-key': 'close-sample' }, close),
      ),
      h('div', { class: 'wide' }, table.tree.element),
    );
  };
  const chart = new ChartFrame(
    {
      key: 'timeline',
      label: `Memory over loading, one optimizer step and what follows it, ${samples.length} samples.`,
      hint: peak ? `Highest: ${sampleText(peak)}` : 'Allocated memory of one GPU',
      items: samples.map((sample) => ({ text: sampleText(sample) })),
      landmarks: phases(samples).map(({ start }) => start),
      onOpen: (index) => open(index),
      draw: (width) => drawTimeline(samples, breakdown.hardware?.capacityBytes ?? 0, width),
    },
    announcer,
  );
  charts.push(chart);
  const details = h(
    'details',
    { 'data-key': 'timeline-table' },
    h('summary', {}, 'Figures'),
    h(
      'table',
      {},
      h(
        'caption',
        { class: 'spoken' },
        'Allocated memory of one GPU over loading, one optimizer step and what follows it',
      ),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, 'Moment'),
          h('th', { scope: 'col' }, 'Where'),
          h('th', { scope: 'col', class: 'number' }, 'GiB'),
        ),
      ),
      h(
        'tbody',
        {},
        ...samples.map((sample, index) =>
          h(
            'tr',
            {},
            h('td', {}, momentName(sample.moment)),
            h(
              'th',
              { scope: 'row' },
              button(sample.label, { class: 'link', 'data-key': `sample-${index}` }, () => {
                open(index);
                chosen.scrollIntoView({ block: 'nearest' });
              }),
            ),
            h('td', { class: 'number' }, gib(sample.bytes)),
          ),
        ),
      ),
    ),
  );
  open(opened.sample);
  return section('Over one step', chart.element, chosen, details);
}

/** Fades the others, so that the chosen one stands out whatever the colours are. */
function emphasize(elements: readonly Element[], chosen: number | undefined): void {
  elements.forEach((element, index) => {
    element.classList.toggle('chosen', index === chosen);
    element.classList.toggle('faded', chosen !== undefined && index !== chosen);
  });
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
