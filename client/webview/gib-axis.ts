import { scaleLinear } from 'd3-scale';
import { numeral, say } from '../../server/src/shared/words';
import { svg } from './element';

export const GIB = 2 ** 30;
/** Pixels that a character of a mark takes at most. */
export const CHARACTER = 7.2;

/** From the top to the bottom of a plot, pixels from its picture's top. */
interface PlotHeight {
  readonly top: number;
  readonly bottom: number;
}

/** The axis of memory at the left of a plot over time. */
export interface GibAxis {
  /** Pixels from the top, of GiB. */
  y(gib: number): number;
  /** Pixels from the left where the plot begins, right of the axis' figures, and where it ends. */
  readonly left: number;
  readonly right: number;
  /** Figures and lines of the grid, and the unit. */
  readonly marks: readonly SVGElement[];
}

/** Room above the tallest, so that its line does not lie on the edge: a matter of looks. */
const HEADROOM = 1.08;

/** An axis from 0 to a little above so many bytes. */
export function gibAxis(tallestBytes: number, width: number, plot: PlotHeight): GibAxis {
  const right = width - 1;
  const y = scaleLinear()
    .domain([0, (tallestBytes * HEADROOM) / GIB])
    .range([plot.bottom, plot.top]);
  const ticks = y.ticks(4).map((tick) => ({ at: y(tick), text: numeral(String(tick)) }));
  const left = Math.max(34, Math.max(...ticks.map(({ text }) => text.length)) * CHARACTER + 8);
  const marks = ticks.map(({ at, text }) =>
    svg(
      'g',
      { class: 'tick' },
      svg('line', { class: 'grid', x1: left, x2: right, y1: at, y2: at }),
      svg('text', { x: left - 6, y: at + 4, 'text-anchor': 'end' }, text),
    ),
  );
  const unit = svg('text', { class: 'unit', x: left - 6, y: 12, 'text-anchor': 'end' }, say('GiB'));
  return { y, left, right, marks: [...marks, unit] };
}

/** The line of so many bytes across the plot. */
export function limitLine({ y, left, right }: GibAxis, bytes: number): SVGElement {
  const at = y(bytes / GIB);
  return svg('line', { class: 'limit', x1: left, x2: right, y1: at, y2: at });
}

/** A mark as high as the plot, hidden until it is put at a stretch: `cursor`, `picked`. */
export function stretchMark(kind: string, { top, bottom }: PlotHeight): SVGRectElement {
  return svg('rect', { class: kind, y: top, height: bottom - top, visibility: 'hidden' });
}

/** Puts a mark at pixels from the left, at least so wide. */
export function placeMark(mark: SVGElement, from: number, to: number, leastWidth: number): void {
  mark.setAttribute('x', String(from));
  mark.setAttribute('width', String(Math.max(to - from, leastWidth)));
}
