import { hierarchy, treemap } from 'd3-hierarchy';
import type { Category, Part } from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import type { Announcer } from './announcer';
import { ChartFrame, holderOf } from './chart-frame';
import { share } from './component-table';
import { componentLabel, paint } from './components';
import { h, svg } from './element';
import type { OpenedFigures } from './opened-figures';
import { t } from './strings';
import { textureUrl } from './textures';

const HEIGHT = 320;
/** Pixels between rectangles of one component, and around those of each. */
const GAPS = { inside: 1, around: 2 } as const;
/**
 * Pixels of a letter (0.6 em, about the mean of a sans serif, at labels of 11 px), of a line, and of the room to the edges: names
 * that have no room are left to the line below.
 */
const TEXT = { letter: 6.6, line: 15, margin: 5 } as const;
/** A share of the peak below which a figure has no rectangle of its own that could be seen. */
const SMALLEST = 0.0005;

/** A rectangle: a component, or one of the figures that it is made of. Bytes of one GPU at the peak. */
interface Area {
  readonly category: Category;
  readonly name: string;
  readonly bytes: number;
}

interface MapNode {
  readonly area?: Area;
  readonly bytes: number;
  readonly children?: readonly MapNode[];
}

interface PeakMap {
  readonly element: HTMLDetailsElement;
  /** Figures of the peak have come. */
  update(): void;
  dispose(): void;
}

/**
 * The peak as rectangles as large as what they hold, components opened one level: where in the model a component is, at one look.
 * Drawn when it is unfolded.
 */
export function peakMap(
  parts: readonly Part[],
  announcer: Announcer,
  opened: OpenedFigures,
  onOpen: (category: Category) => void,
): PeakMap {
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const status = h('p', { class: 'quiet' });
  const canvas = h('div');
  const element = h('details', { 'data-key': 'peak-map' }, h('summary', {}, t('peakMap')), status, canvas);
  let chart: ChartFrame | undefined;
  let drawn: unknown;
  const update = () => {
    if (!element.open) return;
    opened.ask('peak');
    const answer = opened.answer('peak');
    const failure = opened.failure('peak');
    status.textContent = failure ?? '';
    status.hidden = failure === undefined;
    if (chart && drawn === answer) return;
    drawn = answer;
    chart?.dispose();
    const inside = answer?.memory.children;
    const nodes = parts.map((part): MapNode => {
      const area = { category: part.category, name: componentLabel(part.category), bytes: part.bytes };
      const children = inside
        ?.find(({ id }) => id === part.category)
        ?.children?.filter(({ value }) => value >= SMALLEST * total)
        .map(({ name, value }) => ({ bytes: value, area: { category: part.category, name, bytes: value } }));
      return children && children.length > 1 ? { bytes: part.bytes, children } : { bytes: part.bytes, area };
    });
    chart = chartOf(nodes, total, announcer, onOpen);
    canvas.replaceChildren(chart.element);
  };
  element.addEventListener('toggle', update);
  return { element, update, dispose: () => chart?.dispose() };
}

function chartOf(
  nodes: readonly MapNode[],
  total: number,
  announcer: Announcer,
  onOpen: (category: Category) => void,
): ChartFrame {
  const root = hierarchy<MapNode>({ bytes: 0, children: nodes })
    .sum(({ bytes, children }) => (children ? 0 : bytes))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const areas = root.leaves().flatMap(({ data: { area } }) => area ?? []);
  let rectangles: readonly SVGGElement[] = [];
  return new ChartFrame(
    {
      key: 'peak-map-chart',
      label: t('peakMapChart', areas.length, formatBytes(total)),
      hint: t('peakMapHint'),
      items: areas.map((area) => ({
        text: `${pathOf(area)}: ${formatBytes(area.bytes)}, ${share(area.bytes, total)}`,
      })),
      draw(width) {
        const laidOut = treemap<MapNode>()
          .size([width, HEIGHT])
          .paddingInner(GAPS.inside)
          .paddingOuter(GAPS.around / 2)
          .round(true)(root);
        rectangles = laidOut
          .leaves()
          .map(({ x0, x1, y0, y1, data: { area } }) =>
            rectangleOf({ x: x0, y: y0, width: x1 - x0, height: y1 - y0 }, area),
          );
        return {
          element: svg(
            'svg',
            { class: 'peak-map', width, height: HEIGHT, 'aria-hidden': 'true' },
            ...rectangles,
          ),
          mark: (index) => {
            rectangles.forEach((rectangle, at) => {
              rectangle.classList.toggle('chosen', at === index);
              rectangle.classList.toggle('faded', index !== undefined && at !== index);
            });
          },
          itemAt: (event) => holderOf(rectangles, event),
        };
      },
      onOpen: (index) => {
        const area = areas[index];
        if (area) onOpen(area.category);
      },
    },
    announcer,
  );
}

function pathOf({ category, name }: Area): string {
  const component = componentLabel(category);
  return name === component ? component : `${component} › ${name}`;
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * What is written into a rectangle: its component, as every component has parts of the same names, the part and the bytes; from
 * the left of that list as far as there is room. A part without its component, or bytes without their name, would be of nothing.
 */
function labelOf({ category, name, bytes }: Area, { width, height }: Place): readonly string[] {
  const component = componentLabel(category);
  const names = name === component ? [name] : [component, name];
  const fits = (lines: readonly string[]) =>
    lines.every((line) => line.length * TEXT.letter + 2 * TEXT.margin <= width) &&
    lines.length * TEXT.line + TEXT.margin <= height;
  return [[...names, formatBytes(bytes)], names].find(fits) ?? [];
}

function rectangleOf(place: Place, area: Area | undefined): SVGGElement {
  const { x, y } = place;
  if (!area) return svg('g', {});
  const lines = labelOf(area, place);
  return paint(
    svg(
      'g',
      { class: 'segment' },
      svg('rect', { class: 'fill', ...place }),
      svg('rect', { class: 'texture', fill: textureUrl(area.category), ...place }),
      ...lines.map((line, index) =>
        svg('text', { class: 'area-name', x: x + TEXT.margin, y: y + TEXT.line * (index + 1) }, line),
      ),
      svg('title', {}, `${pathOf(area)}: ${formatBytes(area.bytes)}`),
    ),
    area.category,
  );
}
