import type { Category } from '../../server/src/estimate-types';
import { componentLabel, paint } from './components';
import { h, svg } from './element';
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

/** Which colour is which, for those who see the chart; its items and its table name them to everybody else. */
export function legend(categories: Iterable<Category>): HTMLElement {
  return h(
    'p',
    { class: 'legend', 'aria-hidden': 'true' },
    ...[...new Set(categories)].map((category) => h('span', {}, swatch(category), componentLabel(category))),
  );
}
