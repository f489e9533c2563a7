import type { Category, Part } from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import { componentLabel, paint } from './components';
import { h, svg } from './element';
import { t } from './strings';
import { textureUrl } from './textures';

/** The colour and texture of a component, beside its name. */
export function swatch(category: Category): SVGSVGElement {
  return paint(
    svg(
      'svg',
      { class: 'swatch', width: 12, height: 12, 'aria-hidden': 'true' },
      svg('rect', { class: 'fill', width: 12, height: 12, rx: 2 }),
      svg('rect', { class: 'texture', width: 12, height: 12, rx: 2, fill: textureUrl(category) }),
    ),
    category,
  );
}

/** A part below this share of the whole is no answer to what takes the memory. */
export const SMALL_SHARE = 0.01;

/** The parts of a bar by size, each with its figure; those that hardly count together. For those who see the bar. */
export function sizedLegend(parts: readonly Part[]): HTMLElement {
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const sorted = [...parts].sort((a, b) => b.bytes - a.bytes);
  const counted = sorted.filter(({ bytes }) => bytes >= SMALL_SHARE * total);
  // A single small one is no less than the line that would stand for it.
  const large = sorted.length - counted.length < 2 ? sorted : counted;
  const small = sorted.slice(large.length);
  const smallBytes = small.reduce((sum, { bytes }) => sum + bytes, 0);
  const item = (name: string, bytes: number, mark?: Node) =>
    h(
      'li',
      {},
      mark ?? h('span', { class: 'no-swatch' }),
      h('span', { class: 'legend-name' }, name),
      h('span', { class: 'legend-size' }, formatBytes(bytes)),
      h('span', { class: 'legend-share quiet' }, wholeShare(bytes, total)),
    );
  return h(
    'ul',
    { class: 'sized-legend plain', 'aria-hidden': 'true' },
    ...large.map(({ category, bytes }) => item(componentLabel(category), bytes, swatch(category))),
    small.length > 0 ? item(t('smallParts', small.length), smallBytes) : null,
  );
}

/** `45 %`; what is there and rounds to nothing is not nothing. */
function wholeShare(bytes: number, total: number): string {
  const percent = (100 * bytes) / Math.max(1, total);
  return percent > 0 && percent < 0.5 ? '< 1 %' : `${Math.round(percent)} %`;
}

/** Which colour is which, for those who see the chart; its items and its table name them to everybody else. */
export function legend(categories: Iterable<Category>): HTMLElement {
  return h(
    'p',
    { class: 'legend', 'aria-hidden': 'true' },
    ...[...new Set(categories)].map((category) => h('span', {}, swatch(category), componentLabel(category))),
  );
}
