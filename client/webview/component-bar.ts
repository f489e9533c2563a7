import { scaleLinear } from 'd3-scale';
import type { Breakdown, Part } from '../../server/src/shared/protocol';
import { formatBytes, numeral, say } from '../../server/src/shared/words';
import { componentLabel, paint, stackOrder } from './components';
import { svg } from './element';
import { t } from './strings';
import { textureUrl } from './textures';

const GIB = 2 ** 30;
const BAR = { top: 22, height: 40 } as const;
const HEIGHT = 96;
/** The bar of the run before a change. */
const THIN = { height: 12, gap: 6 } as const;
/** Of the word behind it, and of a line of its own below where there is no room behind. */
const LABEL_ROOM = 60;
const LABEL_LINE = 14;

interface BarDrawing {
  readonly element: SVGSVGElement;
  readonly segments: readonly SVGGElement[];
}

/**
 * One GPU at the worst moment: its components stacked from the left, against what the GPU offers. `before`: the same of the
 * run that it is changed from, in a thin bar below.
 */
export function drawComponentBar(
  breakdown: Breakdown,
  parts: readonly Part[],
  width: number,
  before?: Breakdown,
): BarDrawing {
  const earlier = before ? stackOrder(before.parts) : [];
  const capacity = breakdown.hardware?.capacityBytes ?? 0;
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const upper = breakdown.peak?.upperBytes ?? total;
  const x = scaleLinear()
    .domain([0, (Math.max(capacity, total, upper, sumOf(earlier)) * 1.01) / GIB])
    .range([1, width - 1]);
  const at = (bytes: number): number => x(bytes / GIB);
  const isLabelBelow = at(sumOf(earlier)) + LABEL_ROOM > width;
  const down = before ? THIN.height + THIN.gap + (isLabelBelow ? LABEL_LINE : 0) : 0;

  let start = 0;
  const segments = parts.map((part) => {
    const left = at(start);
    start += part.bytes;
    // A gap of one pixel tells neighbours apart without relying on colour.
    const size = { x: left, y: BAR.top, width: Math.max(at(start) - left - 1, 0.75), height: BAR.height };
    return paint(
      svg(
        'g',
        { class: 'segment' },
        svg('rect', { class: 'fill', ...size }),
        svg('rect', { class: 'texture', fill: textureUrl(part.category), ...size }),
        svg('title', {}, `${componentLabel(part.category)}: ${formatBytes(part.bytes)}`),
      ),
      part.category,
    );
  });

  const element = svg(
    'svg',
    { class: 'component-bar', width, height: HEIGHT + down, 'aria-hidden': 'true' },
    svg('rect', {
      class: 'track',
      x: at(0),
      y: BAR.top,
      width: Math.max(at(capacity) - at(0), 0),
      height: BAR.height,
    }),
    ...segments,
    ...thin(earlier, at, isLabelBelow),
    ...(total > capacity && capacity > 0 ? excess(at(capacity), at(total)) : []),
    ...(breakdown.peak ? band(at(breakdown.peak.lowerBytes), at(upper)) : []),
    ...(capacity > 0 ? limit(at(capacity), width, capacity, down) : []),
    ...axis(
      x
        .ticks(Math.max(2, Math.floor(width / 90)))
        .map((tick) => ({ at: x(tick), text: numeral(String(tick)) })),
      width,
      down,
    ),
  );
  return { element, segments };
}

const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** What the bar was, and behind it that it is earlier: below it where there is no room behind. */
function thin(parts: readonly Part[], at: (bytes: number) => number, isLabelBelow: boolean): SVGElement[] {
  let start = 0;
  const y = BAR.top + BAR.height + THIN.gap;
  const bars: SVGElement[] = parts.map((part) => {
    const left = at(start);
    start += part.bytes;
    const size = { x: left, y, width: Math.max(at(start) - left - 1, 0.75), height: THIN.height };
    return paint(svg('g', { class: 'earlier' }, svg('rect', { class: 'fill', ...size })), part.category);
  });
  if (parts.length > 0) {
    const end = at(start);
    const place = isLabelBelow
      ? { x: end, y: y + THIN.height + LABEL_LINE - 3, 'text-anchor': 'end' }
      : { x: end + 6, y: y + THIN.height - 2 };
    bars.push(svg('text', { class: 'earlier-label', ...place }, t('before')));
  }
  return bars;
}

function excess(from: number, to: number): SVGElement[] {
  return [
    svg('rect', { class: 'excess', x: from, y: BAR.top + BAR.height + 2, width: to - from, height: 3 }),
  ];
}

/** Whisker of the uncertainty: measured error of the estimate's parts. */
function band(from: number, to: number): SVGElement[] {
  const y = BAR.top + BAR.height / 2;
  return [
    svg('path', { class: 'band halo', d: `M${from} ${y - 5}v10M${from} ${y}H${to}M${to} ${y - 5}v10` }),
    svg('path', { class: 'band', d: `M${from} ${y - 5}v10M${from} ${y}H${to}M${to} ${y - 5}v10` }),
  ];
}

function limit(at: number, width: number, capacity: number, down: number): SVGElement[] {
  const toTheLeft = at > width / 2;
  return [
    svg('line', { class: 'limit', x1: at, x2: at, y1: 4, y2: BAR.top + BAR.height + 6 + down }),
    svg(
      'text',
      {
        class: 'limit-label',
        x: toTheLeft ? at - 6 : at + 6,
        y: 14,
        'text-anchor': toTheLeft ? 'end' : 'start',
      },
      t('usable', formatBytes(capacity)),
    ),
  ];
}

function axis(ticks: readonly { at: number; text: string }[], width: number, down: number): SVGElement[] {
  const y = BAR.top + BAR.height + 10 + down;
  return ticks.map((tick, index) =>
    svg(
      'g',
      { class: 'tick' },
      svg('line', { x1: tick.at, x2: tick.at, y1: y - 3, y2: y + 1 }),
      svg(
        'text',
        {
          x: tick.at,
          y: y + 14,
          'text-anchor': index === 0 ? 'start' : tick.at > width - 24 ? 'end' : 'middle',
        },
        index === 0 ? `0 ${say('GiB')}` : tick.text,
      ),
    ),
  );
}
