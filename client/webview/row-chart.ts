import { scaleLinear } from 'd3-scale';
import type { Category } from '../../server/src/estimate-types';
import { paint } from './components';
import { svg } from './element';
import { textureUrl } from './textures';

/** One bar with its name before it and its figure behind it. */
export interface ChartRow {
  readonly label: string;
  readonly figure: string;
  readonly segments: readonly { readonly value: number; readonly category: Category }[];
}

const ROW = 24;
const BAR = 14;
const CHARACTER = 7.2;

/** Bars below each other on one scale, against a limit where there is one. */
export function drawRows(rows: readonly ChartRow[], width: number, limit = 0) {
  const longest = (of: (row: ChartRow) => string) => Math.max(...rows.map((row) => of(row).length));
  const labels = Math.min(longest(({ label }) => label) * CHARACTER + 10, width * 0.36);
  const figures = Math.min(longest(({ figure }) => figure) * CHARACTER + 10, width * 0.34);
  const sums = rows.map(({ segments }) => segments.reduce((sum, { value }) => sum + value, 0));
  const x = scaleLinear()
    .domain([0, Math.max(limit, ...sums) || 1])
    .range([labels, Math.max(width - figures, labels + 20)]);
  const room = Math.floor((labels - 8) / CHARACTER);
  const marks = rows.map((row, index) => {
    const y = index * ROW + (ROW - BAR) / 2;
    let start = 0;
    const bars = row.segments.map(({ value, category }) => {
      const left = x(start);
      start += value;
      const size = { x: left, y, width: Math.max(x(start) - left - 0.5, 0.75), height: BAR };
      return paint(
        svg(
          'g',
          {},
          svg('rect', { class: 'fill', ...size }),
          svg('rect', { class: 'texture', fill: textureUrl(category), ...size }),
        ),
        category,
      );
    });
    const shown = row.label.length > room ? `${row.label.slice(0, Math.max(1, room - 1))}…` : row.label;
    return svg(
      'g',
      { class: 'segment' },
      svg('rect', { class: 'hit', x: 0, y: index * ROW, width, height: ROW }),
      svg('text', { class: 'row-label', x: 0, y: y + BAR - 3 }, shown, svg('title', {}, row.label)),
      ...bars,
      svg('text', { class: 'row-figure', x: x(start) + 6, y: y + BAR - 3 }, row.figure),
    );
  });
  const height = rows.length * ROW;
  const element = svg(
    'svg',
    { class: 'rows', width, height, 'aria-hidden': 'true' },
    ...marks,
    limit > 0 ? svg('line', { class: 'limit', x1: x(limit), x2: x(limit), y1: 0, y2: height }) : null,
  );
  return {
    element,
    mark: (index: number | undefined) => {
      marks.forEach((mark, at) => {
        mark.classList.toggle('chosen', at === index);
        mark.classList.toggle('faded', index !== undefined && at !== index);
      });
    },
    itemAt: (event: MouseEvent): number | undefined => {
      const at = Math.floor((event.clientY - element.getBoundingClientRect().top) / ROW);
      return at >= 0 && at < rows.length ? at : undefined;
    },
  };
}
