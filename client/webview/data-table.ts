import { h } from './element';

/** A cell: text, or an element that holds it. */
export type Cell = string | Node;

/** A plain table. The first column heads its row; `numbers` are the columns of figures. */
export function dataTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  numbers: readonly number[],
): HTMLTableElement {
  const kind = (index: number) => (numbers.includes(index) ? 'number' : undefined);
  return h(
    'table',
    { class: 'data' },
    h('caption', { class: 'spoken' }, caption),
    h('thead', {}, h('tr', {}, ...head.map((name, i) => h('th', { scope: 'col', class: kind(i) }, name)))),
    h(
      'tbody',
      {},
      ...rows.map((cells) =>
        h(
          'tr',
          {},
          ...cells.map((cell, i) =>
            i === 0 ? h('th', { scope: 'row' }, cell) : h('td', { class: kind(i) }, cell),
          ),
        ),
      ),
    ),
  );
}
