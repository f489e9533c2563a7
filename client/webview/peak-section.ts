import type { Breakdown, Category, Part } from '../../server/src/shared/protocol';
import { formatBytes, say } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { ChartFrame, holderOf } from './chart-frame';
import { drawComponentBar } from './component-bar';
import { ComponentTable, gib, share } from './component-table';
import { componentLabel, stackOrder } from './components';
import type { OpenedFigures } from './opened-figures';
import { peakMap } from './peak-map';
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
  /** The same as areas, folded. */
  readonly map: HTMLElement;
  readonly chart: ChartFrame;
  /** Makes these parts stand out; none: all look alike. */
  emphasize(categories: readonly Category[] | undefined): void;
  update(): void;
  dispose(): void;
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
    onHover: (index) => chart.choose(index === undefined ? undefined : barIndex(table.shown[index])),
    about: options.about,
  });
  const barIndex = (part: Part | undefined) => parts.findIndex(({ category }) => category === part?.category);
  const redraw = () => {
    const stands = (index: number) =>
      chosen === undefined
        ? (lasting?.includes(parts[index]?.category ?? 'weights') ?? false)
        : index === chosen;
    const any = parts.some((_, index) => stands(index));
    const draw = (element: Element | undefined, index: number) => {
      element?.classList.toggle('chosen', any && stands(index));
      // What weighs most is not dimmed because the cursor stands elsewhere: only a pointer does that.
      element?.classList.toggle('faded', chosen !== undefined && !stands(index));
    };
    segments.forEach(draw);
    table.shown.forEach((part, row) => {
      draw(table.tree.roots[row], barIndex(part));
    });
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
          itemAt: (event) => holderOf(segments, event),
        };
      },
      onOpen: (index) => {
        const part = parts[index];
        if (!part) return;
        table.reveal(part.category);
        options.onOpen(part.category);
      },
    },
    announcer,
  );
  const map = peakMap(parts, announcer, opened, (category) => table.reveal(category));
  return {
    bar: chart.element,
    table: table.element,
    map: map.element,
    chart,
    emphasize(categories) {
      lasting = categories;
      redraw();
    },
    update: () => {
      table.update();
      map.update();
      redraw();
    },
    dispose: map.dispose,
  };
}
