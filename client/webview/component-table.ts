import type { Category, Part } from '../../server/src/estimate-types';
import type { DetailNode } from '../../server/src/memory/detail/node';
import { decimal } from '../../server/src/wording/figures';
import { say } from '../../server/src/wording/say';
import { componentLabel } from './components';
import { h } from './element';
import { type FigureRow, FigureTree } from './figure-tree';
import { swatch } from './legend';
import type { Moment, OpenedFigures } from './opened-figures';
import { t } from './strings';

const GIB = 2 ** 30;

/** Components of one moment that open down to their tensors; also the legend of the bar. */
export class ComponentTable {
  readonly tree: FigureTree;
  readonly #parts: readonly Part[];
  readonly #moment: Moment;
  readonly #opened: OpenedFigures;
  readonly #about: ((category: Category) => Node | undefined) | undefined;

  constructor(
    parts: readonly Part[],
    moment: Moment,
    opened: OpenedFigures,
    options: {
      readonly label: string;
      readonly onHover?: (index: number | undefined) => void;
      /** What stands under an open part, such as the keys that cause it. */
      readonly about?: (category: Category) => Node | undefined;
    },
  ) {
    this.#parts = parts;
    this.#moment = moment;
    this.#opened = opened;
    this.#about = options.about;
    const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    this.tree = new FigureTree({
      key: moment === 'peak' ? 'peak' : 'sample',
      label: options.label,
      columns: [t('component'), say('GiB'), t('share')],
      open: opened.rows,
      rowOf: (node) => rowOf(node, total),
      ask: () => opened.ask(moment),
      onHover: options.onHover,
      footer: h(
        'tfoot',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, t('total')),
          h('td', { class: 'number' }, gib(total)),
          h('td', { class: 'number' }, '100 %'),
          h('td', { class: 'wide-only' }),
        ),
      ),
    });
    this.tree.element.classList.add('components');
    this.update();
  }

  /** Draws what is known now. */
  update(): void {
    const total = this.#parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const inside = this.#opened.answer(this.#moment)?.memory.children;
    this.tree.show(
      this.#parts.map((part): FigureRow => {
        const node = inside?.find(({ id }) => id === part.category);
        return {
          name: componentLabel(part.category),
          mark: () => swatch(part.category),
          value: gib(part.bytes),
          share: share(part.bytes, total),
          formula: (node?.children ? undefined : node?.formula) ?? part.formula ?? node?.formula,
          node,
          about: () => this.#about?.(part.category),
        };
      }),
      this.#opened.failure(this.#moment),
    );
  }
}

function rowOf(node: DetailNode, total: number): FigureRow {
  return {
    name: node.name,
    value: gib(node.value),
    share: share(node.value, total),
    formula: node.formula,
    node,
  };
}

export function gib(bytes: number): string {
  const value = bytes / GIB;
  return value > 0 && value < 0.005 ? `< ${decimal(0.01, 2)}` : decimal(value, 2);
}

export function share(bytes: number, total: number): string {
  const percent = total > 0 ? (100 * bytes) / total : 0;
  return percent > 0 && percent < 0.1 ? `< ${decimal(0.1, 1)} %` : `${decimal(percent, 1)} %`;
}
