import type { Category } from '../../server/src/estimate-types';
import type { Breakdown } from '../../server/src/features/protocol';
import { formatBytes } from '../../server/src/wording/figures';
import { say } from '../../server/src/wording/say';
import type { Announcer } from './announcer';
import { ChartFrame } from './chart-frame';
import { drawComponentBar } from './component-bar';
import { ComponentTable, gib, share } from './component-table';
import { componentLabel, stackOrder } from './components';
import { h } from './element';
import type { OpenedFigures } from './opened-figures';
import { t } from './strings';

interface PeakOptions {
  /** The run that this one is changed from. */
  readonly before?: Breakdown;
  /** What stands under an open part. */
  readonly about: (category: Category) => Node | undefined;
  /** A part is chosen by Enter or a click. */
  readonly onOpen: (category: Category) => void;
}

interface PeakSection {
  readonly bar: HTMLElement;
  readonly table: HTMLElement;
  readonly chart: ChartFrame;
  /** Makes these parts stand out; none: all look alike. */
  emphasize(categories: readonly Category[] | undefined): void;
  update(): void;
}

/** The stacked bar of one GPU at its worst moment, and the components below it that open down to tensors. */
export function peakSection(
  breakdown: Breakdown,
  announcer: Announcer,
  opened: OpenedFigures,
  options: PeakOptions,
): PeakSection {
  const parts = stackOrder(breakdown.parts);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  let segments: readonly SVGGElement[] = [];
  let lasting: readonly Category[] | undefined;
  let chosen: number | undefined;
  const table = new ComponentTable(parts, 'peak', opened, {
    label: t('peakTable'),
    onHover: (index) => chart.choose(index),
    about: options.about,
  });
  const redraw = () => {
    const stands = (index: number) =>
      chosen === undefined
        ? (lasting?.includes(parts[index]?.category ?? 'weights') ?? false)
        : index === chosen;
    const any = parts.some((_, index) => stands(index));
    for (const elements of [segments, table.tree.roots]) {
      elements.forEach((element, index) => {
        element.classList.toggle('chosen', any && stands(index));
        element.classList.toggle('faded', any && !stands(index));
      });
    }
  };
  const chart: ChartFrame = new ChartFrame(
    {
      key: 'components',
      label: t('peakChart', parts.length, formatBytes(total)),
      hint: t('peakHint'),
      items: parts.map((part) => ({
        text: `${componentLabel(part.category)}: ${gib(part.bytes)} ${say('GiB')}, ${share(part.bytes, total)}`,
      })),
      draw(width) {
        const drawn = drawComponentBar(breakdown, parts, width, options.before);
        segments = drawn.segments;
        return {
          element: drawn.element,
          mark: (index) => {
            chosen = index;
            redraw();
          },
          itemAt: (event) => {
            const { target } = event;
            const index = segments.findIndex((segment) => target instanceof Node && segment.contains(target));
            return index < 0 ? undefined : index;
          },
        };
      },
      onOpen: (index) => {
        const part = parts[index];
        if (!part) return;
        table.tree.reveal(componentLabel(part.category));
        options.onOpen(part.category);
      },
    },
    announcer,
  );
  return {
    bar: chart.element,
    table: h('div', { class: 'wide' }, table.tree.element),
    chart,
    emphasize(categories) {
      lasting = categories;
      redraw();
    },
    update: () => {
      table.update();
      redraw();
    },
  };
}
