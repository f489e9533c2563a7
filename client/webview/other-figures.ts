import type { DetailNode } from '../../server/src/shared/protocol';
import { formatValue } from '../../server/src/shared/words';
import { h } from './element';
import { type FigureRow, FigureTree } from './figure-tree';
import type { OpenedFigures } from './opened-figures';
import { t } from './strings';

/** Every figure beside the memory at the peak, folded away until somebody wants to know. */
export class OtherFigures {
  readonly element: HTMLDetailsElement;
  readonly #tree: FigureTree;
  readonly #opened: OpenedFigures;
  readonly #status = h('p', { class: 'quiet' });
  /** `id` of a figure to go to once it is there. */
  #wanted: string | undefined;

  constructor(opened: OpenedFigures) {
    this.#opened = opened;
    this.#tree = new FigureTree({
      key: 'figure',
      label: t('figuresTree'),
      columns: [t('figure'), t('value')],
      open: opened.rows,
      rowOf,
      ask: () => opened.ask('peak'),
    });
    this.element = h(
      'details',
      { 'data-key': 'other-figures' },
      h('summary', {}, t('howTheyCome')),
      this.#status,
      this.#tree.element,
    );
    this.element.addEventListener('toggle', () => this.update());
    this.update();
  }

  /** Unfolds, and goes to a figure by its `id`. */
  reveal(id: string): void {
    this.#wanted = id;
    this.element.open = true;
    this.update();
  }

  /** Draws what is known now. */
  update(): void {
    if (!this.element.open) return;
    const figures = this.#opened.answer('peak')?.figures;
    const failure = this.#opened.failure('peak');
    this.#opened.ask('peak');
    this.#status.textContent = figures ? '' : (failure ?? t('opening'));
    this.#status.hidden = figures !== undefined;
    this.#tree.element.hidden = figures === undefined;
    if (!figures) return;
    this.#tree.show(
      figures.map((node) => ({ ...rowOf(node), name: capital(node.name) })),
      failure,
    );
    const wanted = figures.find(({ id }) => id === this.#wanted);
    if (wanted) this.#tree.reveal(capital(wanted.name));
    this.#wanted = undefined;
  }
}

function rowOf(node: DetailNode): FigureRow {
  return {
    name: node.name,
    value: formatValue(node.value, node.unit),
    formula: node.formula,
    node,
  };
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
