import type { Category, DetailNode, Part } from '../../server/src/shared/protocol';
import { decimal, say } from '../../server/src/shared/words';
import { componentLabel } from './components';
import { button, h } from './element';
import { type FigureRow, FigureTree } from './figure-tree';
import { SMALL_SHARE, swatch } from './legend';
import type { OpenedFigures, OpenedMoment } from './opened-figures';
import { t } from './strings';

const GIB = 2 ** 30;
/** Among the keys of open rows: small parts are shown, too. */
const UNFOLDED = 'small-parts';

/** Components of one moment that open down to their tensors; also the legend of the bar. */
export class ComponentTable {
  readonly tree: FigureTree;
  readonly element: HTMLElement;
  readonly #fold: HTMLButtonElement;
  readonly #parts: readonly Part[];
  readonly #moment: OpenedMoment;
  readonly #opened: OpenedFigures;
  readonly #about: ((category: Category) => Node | undefined) | undefined;

  constructor(
    parts: readonly Part[],
    moment: OpenedMoment,
    opened: OpenedFigures,
    options: {
      readonly label: string;
      readonly onHover?: (index: number | undefined) => void;
      /** What stands under an open part, such as the keys that cause it. */
      readonly about?: (category: Category) => Node | undefined;
    },
  ) {
    this.#parts = [...parts].sort((a, b) => b.bytes - a.bytes);
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
    const small = this.#parts.length - this.#large;
    this.#fold = button('', { class: 'link fold', 'data-key': `small-${moment}` }, () => this.#toggle());
    this.element = h('div', { class: 'wide' }, this.tree.element, small > 0 ? this.#fold : null);
    this.update();
  }

  /** Rows as they stand, largest first; those that are folded away are none. */
  get shown(): readonly Part[] {
    return this.#opened.rows.has(UNFOLDED) ? this.#parts : this.#parts.slice(0, this.#large);
  }

  /** Opens the row of a part. */
  reveal(category: Category): void {
    if (!this.shown.some((part) => part.category === category)) this.#toggle();
    this.tree.reveal(componentLabel(category));
  }

  /** How many are worth a line; a single small one is no less than the line that hides it. */
  get #large(): number {
    const total = this.#parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const large = this.#parts.filter(({ bytes }) => bytes >= SMALL_SHARE * total).length;
    return this.#parts.length - large < 2 ? this.#parts.length : large;
  }

  #toggle(): void {
    if (!this.#opened.rows.delete(UNFOLDED)) this.#opened.rows.add(UNFOLDED);
    this.update();
  }

  /** Draws what is known now. */
  update(): void {
    const total = this.#parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const isFolded = !this.#opened.rows.has(UNFOLDED);
    this.#fold.textContent = isFolded
      ? t('showSmall', this.#parts.length - this.#large)
      : t('hideSmall', this.#parts.length - this.#large);
    this.#fold.setAttribute('aria-expanded', String(!isFolded));
    const inside = this.#opened.answer(this.#moment)?.memory.children;
    this.tree.show(
      this.shown.map((part): FigureRow => {
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
