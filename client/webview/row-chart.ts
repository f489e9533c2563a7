import { scaleLinear } from 'd3-scale';
import type { Category } from '../../server/src/shared/protocol';
import { paint } from './components';
import { svg } from './element';
import { textureUrl } from './textures';

/** One bar with its name before it and its figure behind it. */
export interface ChartRow {
  readonly label: string;
  readonly figure: string;
  /** Without a category: a figure that is not known by its parts. */
  readonly segments: readonly { readonly value: number; readonly category?: Category }[];
  /** What the bar may not pass; none where nothing bounds it. */
  readonly limit?: number;
  /** Stands above the row: the first of a group. */
  readonly heading?: string;
}

const BAR = 14;
const HEADING = 24;
const HEADING_LINE = 16;
const CHARACTER = 7.2;
/** Between a bar, or a line, and the figure behind it. */
const FIGURE_GAP = 6;
/** Headings are bold, and Cyrillic letters are wider. */
const HEADING_CHARACTER = 8;

/** Bars below each other on one scale, each against its limit where it has one. */
export function drawRows(rows: readonly ChartRow[], width: number) {
  const longest = (of: (row: ChartRow) => string) => Math.max(...rows.map((row) => of(row).length));
  const name = longest(({ label }) => label) * CHARACTER + 16;
  const figures = longest(({ figure }) => figure) * CHARACTER + 10;
  // Where the two leave the bar too little room, the name stands above it.
  const stacked = name + figures > width / 2;
  const labels = stacked ? 0 : name;
  const rowHeight = BAR + (stacked ? 26 : 10);
  const sums = rows.map(({ segments }) => segments.reduce((sum, { value }) => sum + value, 0));
  const ends = rows.map(({ limit = 0 }, index) => Math.max(limit, sums[index] ?? 0));
  const x = scaleLinear()
    .domain([0, Math.max(...ends) || 1])
    .range([labels, Math.max(width - figures, labels + 20)]);
  const { tops, headings, height } = layout(rows, width, rowHeight);
  const marks = rows.map((row, index) => {
    const top = tops[index] ?? 0;
    const y = top + rowHeight - BAR - 5;
    let start = 0;
    const bars = row.segments.map(({ value, category }) => {
      const left = x(start);
      start += value;
      const size = { x: left, y, width: Math.max(x(start) - left - 0.5, 0.75), height: BAR };
      if (category === undefined) return svg('rect', { class: 'fill undivided', ...size });
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
    return svg(
      'g',
      { class: 'segment' },
      svg('rect', { class: 'hit', x: 0, y: top, width, height: rowHeight }),
      label('row-label', row.label, stacked ? width : labels, stacked ? y - BAR - 4 : y),
      ...bars,
    );
  });
  const element = svg(
    'svg',
    { class: 'rows', width, height, 'aria-hidden': 'true' },
    ...headings,
    ...marks,
    ...limits(rows, tops, rowHeight).map(({ limit, from, to }) =>
      svg('line', { class: 'limit', x1: x(limit), x2: x(limit), y1: from, y2: to }),
    ),
    ...rows.map(({ figure, limit }, index) => {
      const at = {
        x: figureAt(x(sums[index] ?? 0), figure, limit && x(limit)),
        y: (tops[index] ?? 0) + rowHeight - 8,
      };
      return svg('text', { class: 'row-figure', ...at }, figure);
    }),
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
      const y = event.clientY - element.getBoundingClientRect().top;
      const at = tops.findIndex((top) => y >= top && y < top + rowHeight);
      return at < 0 ? undefined : at;
    },
  };
}

/** Where a figure begins: behind its bar, and behind the line too that it would reach. There is room for a figure behind the last line. */
function figureAt(end: number, figure: string, line: number | undefined): number {
  const behind = end + FIGURE_GAP;
  const isReached = line && line > end - 1 && line < behind + figure.length * CHARACTER + FIGURE_GAP;
  return isReached ? Math.max(line, end) + FIGURE_GAP : behind;
}

/** Where each row begins, in pixels, and the headings above rows, each in as many lines as it needs. */
function layout(rows: readonly ChartRow[], width: number, rowHeight: number) {
  const tops: number[] = [];
  const headings: SVGTextElement[] = [];
  let height = 0;
  for (const { heading } of rows) {
    const lines = heading === undefined ? [] : wrapped(heading, Math.floor(width / HEADING_CHARACTER));
    if (lines.length > 0) height += HEADING + (lines.length - 1) * HEADING_LINE;
    lines.forEach((line, at) => {
      const y = height - BAR - 2 - (lines.length - 1 - at) * HEADING_LINE;
      headings.push(label('row-heading', line, width, y));
    });
    tops.push(height);
    height += rowHeight;
  }
  return { tops, headings, height };
}

/** A text in lines of so many characters, parted between words. */
function wrapped(text: string, characters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= characters)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A text cut to the room that it has; whole where somebody points at it. */
function label(kind: string, text: string, room: number, y: number): SVGTextElement {
  const characters = Math.floor(room / CHARACTER);
  const shown = text.length > characters ? `${text.slice(0, Math.max(1, characters - 1))}…` : text;
  return svg('text', { class: kind, x: 0, y: y + BAR - 3 }, shown, svg('title', {}, text));
}

/** Neighbours of the same limit share one line. */
function limits(rows: readonly ChartRow[], tops: readonly number[], rowHeight: number) {
  const lines: { limit: number; from: number; to: number }[] = [];
  rows.forEach(({ limit, heading }, index) => {
    const top = tops[index] ?? 0;
    if (!limit) return;
    const last = lines.at(-1);
    if (last?.limit === limit && last.to === top && heading === undefined) last.to = top + rowHeight;
    else lines.push({ limit, from: top, to: top + rowHeight });
  });
  return lines;
}
