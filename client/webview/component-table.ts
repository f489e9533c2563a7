import type { Part } from '../../server/src/estimate-types';
import { componentLabel, paint } from './components';
import { h, svg } from './element';
import { textureUrl } from './textures';

const GIB = 2 ** 30;

export interface ComponentTable {
  readonly element: HTMLElement;
  readonly rows: readonly HTMLTableRowElement[];
}

/** The figures behind the bar; also its legend. */
export function componentTable(parts: readonly Part[]): ComponentTable {
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = parts.map((part) =>
    h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        h('div', { class: 'component-name' }, swatch(part), componentLabel(part.category)),
        part.formula ? h('span', { class: 'formula narrow-only' }, part.formula) : null,
      ),
      h('td', { class: 'number' }, gib(part.bytes)),
      h('td', { class: 'number' }, share(part.bytes, total)),
      h('td', { class: 'formula wide-only' }, part.formula ?? ''),
    ),
  );
  const element = h(
    'table',
    { class: 'components' },
    h('caption', { class: 'spoken' }, 'Memory of one GPU at the peak, by component'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, 'Component'),
        h('th', { scope: 'col', class: 'number' }, 'GiB'),
        h('th', { scope: 'col', class: 'number' }, 'Share'),
        h('th', { scope: 'col', class: 'wide-only' }, 'How it is reckoned'),
      ),
    ),
    h('tbody', {}, ...rows),
    h(
      'tfoot',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'row' }, 'Total'),
        h('td', { class: 'number' }, gib(total)),
        h('td', { class: 'number' }, '100 %'),
        h('td', { class: 'wide-only' }),
      ),
    ),
  );
  return { element, rows };
}

export function gib(bytes: number): string {
  const value = bytes / GIB;
  return value > 0 && value < 0.005 ? '< 0.01' : value.toFixed(2);
}

export function share(bytes: number, total: number): string {
  const percent = total > 0 ? (100 * bytes) / total : 0;
  return percent > 0 && percent < 0.1 ? '< 0.1 %' : `${percent.toFixed(1)} %`;
}

function swatch(part: Part): SVGSVGElement {
  return paint(
    svg(
      'svg',
      { class: 'swatch', width: 12, height: 12, 'aria-hidden': 'true' },
      svg('rect', { class: 'fill', width: 12, height: 12, rx: 2 }),
      svg('rect', { class: 'texture', width: 12, height: 12, rx: 2, fill: textureUrl(part.category) }),
    ),
    part.category,
  );
}
