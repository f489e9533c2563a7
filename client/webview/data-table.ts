import { figuresKept, h } from './element';

/** A cell: text, or an element that holds it. */
type Cell = string | Node;

interface Columns {
  /** Those of figures. */
  readonly numbers?: readonly number[];
  /** Those that stand under the name of the row where the panel is narrow (`namedRows`). */
  readonly wide?: readonly number[];
}

/** A plain table. The first column heads its row. */
export function dataTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { numbers = [], wide = [] }: Columns = {},
): HTMLTableElement {
  const kind = (index: number) =>
    [numbers.includes(index) && 'number', wide.includes(index) && 'wide-only'].filter(Boolean).join(' ') ||
    undefined;
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

/** The name of a row, and below it in a narrow panel what has no column there. */
export function namedRows(name: Cell, ...below: Cell[]): HTMLElement {
  const kept = below.flatMap((cell) => (typeof cell === 'string' ? figuresKept(cell) : [cell]));
  return h('span', {}, name, h('span', { class: 'narrow-only' }, ...kept));
}
