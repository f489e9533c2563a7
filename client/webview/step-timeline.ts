import { scaleLinear } from 'd3-scale';
import type { Category, Moment, Sample } from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import { componentLabel, heldCategories } from './components';
import { svg } from './element';
import { CHARACTER, GIB, type GibAxis, gibAxis, limitLine, placeMark, stretchMark } from './gib-axis';
import { stackedLayers } from './stacked-layers';
import { t } from './strings';
import type { AxisRange } from './zoom';

const HEIGHT = 224;
const PLOT = { top: 20, bottom: HEIGHT - 42 } as const;

export interface TimelineDrawing {
  readonly element: SVGSVGElement;
  mark(index: number | undefined): void;
  itemAt(event: MouseEvent): number | undefined;
}

/** One that can be zoomed. */
export interface StepDrawing extends TimelineDrawing {
  /** Place on the axis under a pointer. */
  placeAt(event: MouseEvent): number;
  /** Marks a stretch that is picked; undefined: none is. */
  pick(stretch: AxisRange | undefined): void;
}

/** Consecutive samples of one moment. */
interface Phase {
  readonly moment: Moment;
  readonly start: number;
  readonly end: number;
}

export function phases(samples: readonly Sample[]): Phase[] {
  const found: Phase[] = [];
  samples.forEach(({ moment }, index) => {
    const last = found.at(-1);
    if (last?.moment === moment) {
      found[found.length - 1] = { ...last, end: index + 1 };
    } else {
      found.push({ moment, start: index, end: index + 1 });
    }
  });
  return found;
}

export function momentName(moment: Moment): string {
  return t(moment);
}

/** What is stated about one sample: where in the step it is, how much, and what weighs most. */
export function sampleText(sample: Sample): string {
  const largest = [...sample.parts].sort((a, b) => b.bytes - a.bytes).slice(0, 3);
  const parts = largest
    .filter(({ bytes }) => bytes > 0)
    .map(({ category, bytes }) => `${componentLabel(category).toLowerCase()} ${formatBytes(bytes)}`);
  const label = sample.label.charAt(0).toUpperCase() + sample.label.slice(1);
  const size = formatBytes(sample.bytes);
  return parts.length > 0
    ? t('sampleText', label, size, parts.join(', '))
    : t('sampleTextPlain', label, size);
}

export function highest(samples: readonly Sample[]): number {
  let peak = 0;
  samples.forEach(({ bytes }, index) => {
    if (bytes > (samples[peak]?.bytes ?? 0)) {
      peak = index;
    }
  });
  return peak;
}

/** What is no layer has so much of the width, as a share of that of the layers: enough to be pointed at. */
const SHARE_BESIDE_LAYERS = 1 / 24;

/** Where each sample stands, in layers: those that are skipped because they are alike have their room before it. */
export function spansOf(samples: readonly Sample[]): AxisRange[] {
  const skipped = samples.reduce((sum, sample) => sum + (sample.skipped ?? 0), 0);
  const beside = Math.max(1, skipped * SHARE_BESIDE_LAYERS);
  let at = 0;
  return samples.map(({ skipped: before = 0 }, index) => {
    const isLayer = before > 0 || (samples[index + 1]?.skipped ?? 0) > 0;
    const from = at + before;
    at = from + (isLayer ? 1 : beside);
    return { from, to: at };
  });
}

/** Memory over a run's moments, one optimizer step among them, stacked by component; all of them, or the stretch in view. */
export function drawTimeline(
  samples: readonly Sample[],
  capacity: number,
  width: number,
  view?: AxisRange,
): StepDrawing {
  const axis = gibAxis(Math.max(capacity, ...samples.map(({ bytes }) => bytes)), width, PLOT);
  const { y, left, right } = axis;
  const spans = spansOf(samples);
  const x = scaleLinear()
    .domain(view ? [view.from, view.to] : [0, spans.at(-1)?.to ?? 1])
    .range([left, right]);
  const seen = (at: number) => Math.min(right, Math.max(left, x(at)));
  const starts = (index: number) => seen(spans[index]?.from ?? 0);
  const ends = (index: number) => seen(spans[index]?.to ?? 0);
  const peak = highest(samples);
  const cursor = stretchMark('cursor', PLOT);
  const level = svg('line', { class: 'level', x1: left, x2: right, visibility: 'hidden' });
  const picked = stretchMark('picked', PLOT);
  const limit = capacity > 0 ? limitName(axis, capacity) : undefined;
  const isPeakSeen = ends(peak) > left && starts(peak) < right;

  const element = svg(
    'svg',
    { class: 'timeline', width, height: HEIGHT, 'aria-hidden': 'true' },
    ...axis.marks,
    // What is not in view ends at the edges of the plot.
    svg(
      'svg',
      { x: left, y: 0, width: right - left, height: HEIGHT, viewBox: `${left} 0 ${right - left} ${HEIGHT}` },
      ...stackedLayers(
        heldCategories(samples).map((colour) => ({
          colour,
          bytes: samples.map((sample) => bytesOf(sample, colour)),
        })),
        // Both ends of a sample are drawn; between them and the next lie layers that are alike, a ramp.
        (index) => {
          const { from, to } = spans[index] ?? { from: 0, to: 0 };
          return [x(from), x(to)];
        },
        y,
      ),
    ),
    ...phaseMarks(phases(samples), starts, (index) => ends(index - 1), right),
    cursor,
    picked,
    level,
    ...(limit ? [limitLine(axis, capacity), limit.element] : []),
    ...(isPeakSeen ? peakMarks((starts(peak) + ends(peak)) / 2, y, samples[peak]?.bytes ?? 0, width) : []),
  );
  const placeAt = (event: MouseEvent) => x.invert(event.clientX - element.getBoundingClientRect().left);
  return {
    element,
    mark(index) {
      for (const mark of [cursor, level])
        mark.setAttribute('visibility', index === undefined ? 'hidden' : 'visible');
      limit?.leave(index === undefined ? right : starts(index));
      if (index !== undefined) {
        placeMark(cursor, starts(index), ends(index), 1.5);
        const height = String(y((samples[index]?.bytes ?? 0) / GIB));
        level.setAttribute('y1', height);
        level.setAttribute('y2', height);
      }
    },
    itemAt(event) {
      const at = placeAt(event);
      return at < (view?.from ?? 0) ? undefined : nearest(spans, at);
    },
    placeAt,
    pick(stretch) {
      picked.setAttribute('visibility', stretch ? 'visible' : 'hidden');
      if (stretch) placeMark(picked, seen(stretch.from), seen(stretch.to), 1);
    },
  };
}

/** The name of the line of what the card has: at its left end, and at its right end while what is marked would lie under it there. */
function limitName({ left, right, y }: GibAxis, capacity: number) {
  const text = t('usable', formatBytes(capacity));
  const element = svg('text', { class: 'limit-label haloed', y: y(capacity / GIB) - 5 }, text);
  const stand = (isLeft: boolean) => {
    element.setAttribute('x', String(isLeft ? left + 4 : right - 4));
    element.setAttribute('text-anchor', isLeft ? 'start' : 'end');
  };
  stand(true);
  return { element, leave: (x: number) => stand(x > left + 8 + text.length * CHARACTER) };
}

/** A triangle over the peak, `x` pixels from the left, and its bytes beside it, on the side with room. */
function peakMarks(x: number, scale: Scale, bytes: number, width: number): SVGElement[] {
  const y = scale(bytes / GIB);
  const isRight = x > width / 2;
  return [
    svg('path', { class: 'peak', d: `M${x} ${y - 3}l-4.5 -7h9z` }),
    svg(
      'text',
      {
        class: 'peak-label haloed',
        x: isRight ? x - 9 : x + 9,
        y: Math.max(y - 3, 10),
        'text-anchor': isRight ? 'end' : 'start',
      },
      `${t('peakMark')} ${formatBytes(bytes)}`,
    ),
  ];
}

/** The sample at a place, or the nearer one where alike layers are skipped; undefined behind the last. */
function nearest(spans: readonly AxisRange[], at: number): number | undefined {
  const behind = spans.findIndex(({ to }) => at < to);
  if (behind < 0) return undefined;
  const gap = (spans[behind]?.from ?? 0) - at;
  const before = spans[behind - 1];
  return gap > 0 && before && at - before.to < gap ? behind - 1 : behind;
}

type Scale = (value: number) => number;

function bytesOf(sample: Sample, category: Category): number {
  return sample.parts.reduce((sum, part) => (part.category === category ? sum + part.bytes : sum), 0);
}

/**
 * Lines between phases and their names: below the phase where it is wide enough, else beginning or ending with it, one row
 * lower where another name stands. The text under the chart and the table have them all.
 */
function phaseMarks(all: readonly Phase[], starts: Scale, ends: Scale, right: number): SVGElement[] {
  const spans = all.flatMap(({ start, end, moment }) => {
    const [from, to] = [starts(start), ends(end)];
    const text = momentName(moment);
    return to > from ? [{ from, to, text, width: text.length * CHARACTER }] : [];
  });
  const lines = spans
    .slice(1)
    .map(({ from }) =>
      svg('line', { class: 'phase', x1: from, x2: from, y1: PLOT.top, y2: PLOT.bottom + 6 }),
    );
  const taken: { readonly row: number; readonly start: number; readonly end: number }[] = [];
  const isFree = (row: number, start: number, end: number) =>
    !taken.some((other) => other.row === row && start < other.end + 6 && other.start - 6 < end);
  const names: SVGElement[] = [];
  // Names that have room of their own come first; the others take what is left.
  const fits = ({ from, to, width }: (typeof spans)[number]) => to - from > width + 6;
  for (const span of [...spans.filter(fits), ...spans.filter((one) => !fits(one))]) {
    const { from, to, text, width } = span;
    const middle = (from + to - width) / 2;
    const starts = fits(span) ? [middle] : [from, to - width].filter((at) => at > 0 && at + width <= right);
    const place = [0, 1]
      .flatMap((row) => starts.map((start) => ({ row, start, end: start + width })))
      .find(({ row, start, end }) => isFree(row, start, end));
    if (!place) continue;
    taken.push(place);
    const y = PLOT.bottom + 18 + 14 * place.row;
    const at = { x: place.start + width / 2, y, 'text-anchor': 'middle' };
    names.push(svg('text', { class: 'phase-name', ...at }, text));
  }
  return [...lines, ...names];
}
