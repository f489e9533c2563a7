import type { DetailNode } from '../../server/src/shared/protocol';
import { formatInteger, say } from '../../server/src/shared/words';
import { h } from './element';
import { isHttps } from './links';
import { breakable, sentence } from './sentence';
import { t } from './strings';

/** One line of the tree. */
export interface FigureRow {
  readonly name: string;
  /** In front of the name, such as the colour of a component. */
  readonly mark?: () => Node;
  readonly value: string;
  readonly share?: string;
  readonly formula?: string;
  /** What opens below it; undefined while that is not there yet. */
  readonly node?: DetailNode;
  /** More to say under the open row. */
  readonly about?: () => Node | undefined;
}

interface FigureTreeOptions {
  /** Tells this tree from others of the page. */
  readonly key: string;
  readonly label: string;
  readonly columns: readonly [name: string, value: string, share?: string];
  /** Keys of open rows, kept by the page while its content changes. */
  readonly open: Set<string>;
  readonly rowOf: (node: DetailNode, parent: DetailNode) => FigureRow;
  /** A row is open: its insides are needed, anew after each edit. */
  readonly ask: () => void;
  /** The pointer is over a row of the first level, or over none. */
  readonly onHover?: (index: number | undefined) => void;
  readonly footer?: HTMLElement;
}

interface Line {
  readonly key: string;
  readonly parent?: string;
  readonly row: FigureRow;
  readonly level: number;
  readonly element: HTMLTableRowElement;
}

/**
 * Figures that open to their formula, their source and what they are made of: a tree grid
 * (https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/) with one tab stop. Arrow keys walk the rows; right opens and left
 * closes, Enter and Space do either.
 */
export class FigureTree {
  readonly element: HTMLElement;
  readonly #options: FigureTreeOptions;
  readonly #body = h('tbody');
  #roots: readonly FigureRow[] = [];
  #lines: Line[] = [];
  #active: string | undefined;
  #failure: string | undefined;

  constructor(options: FigureTreeOptions) {
    this.#options = options;
    const [name, value, share] = options.columns;
    const head = h(
      'tr',
      {},
      h('th', { scope: 'col' }, name),
      h('th', { scope: 'col', class: 'number' }, value),
      share === undefined ? null : h('th', { scope: 'col', class: 'number' }, share),
      h('th', { scope: 'col', class: 'wide-only' }, t('formulaColumn')),
    );
    this.element = h(
      'table',
      { class: 'figures', role: 'treegrid', 'aria-label': options.label },
      h('thead', {}, head),
      this.#body,
      options.footer,
    );
    this.#body.addEventListener('keydown', (event) => this.#move(event));
    this.#body.addEventListener('click', (event) => this.#press(event));
    this.#body.addEventListener('focusin', ({ target }) => {
      const line = this.#lineOf(target);
      if (line) this.#activate(line.key);
    });
  }

  /** Rows of the first level as they are drawn. */
  get roots(): readonly HTMLTableRowElement[] {
    return this.#lines.filter(({ level }) => level === 1).map(({ element }) => element);
  }

  /** Draws these rows, and below the open ones what they are made of. */
  show(roots: readonly FigureRow[], failure?: string): void {
    this.#roots = roots;
    this.#failure = failure;
    this.#draw();
  }

  /** Opens the row of the first level with that name, and goes there. */
  reveal(name: string): void {
    const row = this.#roots.find((one) => one.name === name);
    if (!row) return;
    this.#options.open.add(this.#key(undefined, row));
    this.#draw();
    const line = this.#lines.find(({ level, row: shown }) => level === 1 && shown.name === name);
    line?.element.focus();
    line?.element.scrollIntoView({ block: 'nearest' });
  }

  #key(parent: string | undefined, row: FigureRow): string {
    return `${parent ?? this.#options.key}/${row.name}`;
  }

  #draw(): void {
    const focused = this.#body.contains(document.activeElement) ? this.#active : undefined;
    this.#lines = [];
    this.#body.replaceChildren();
    let anyOpen = false;
    const draw = (rows: readonly FigureRow[], level: number, parent?: string): void => {
      const namesakes = new Map<string, number>();
      rows.forEach((row, index) => {
        const before = namesakes.get(row.name) ?? 0;
        namesakes.set(row.name, before + 1);
        const key = `${this.#key(parent, row)}${before > 0 ? ` ${before + 1}` : ''}`;
        const open = this.#options.open.has(key);
        const element = this.#rowElement(row, { key, level, open, index, of: rows.length });
        this.#lines.push({ key, parent, row, level, element });
        this.#body.append(element);
        if (!open) return;
        const { node } = row;
        anyOpen = true;
        this.#body.append(this.#factsElement(row, level));
        const children = (node?.children ?? []).map((child) =>
          this.#options.rowOf(child, node as DetailNode),
        );
        draw(children, level + 1, key);
      });
    };
    draw(this.#roots, 1);
    if (!this.#lines.some(({ key }) => key === this.#active)) this.#active = this.#lines[0]?.key;
    for (const { key, element } of this.#lines) element.tabIndex = key === this.#active ? 0 : -1;
    if (focused !== undefined) this.#lines.find(({ key }) => key === this.#active)?.element.focus();
    if (anyOpen) this.#options.ask();
  }

  #rowElement(
    row: FigureRow,
    at: { readonly key: string; level: number; open: boolean; index: number; of: number },
  ): HTMLTableRowElement {
    const element = h(
      'tr',
      {
        'aria-level': at.level,
        'aria-expanded': String(at.open),
        'aria-posinset': at.index + 1,
        'aria-setsize': at.of,
        'data-key': at.key,
        class: at.open ? 'figure-row open' : 'figure-row',
      },
      h(
        'th',
        { scope: 'row', class: 'figure-cell' },
        h(
          'div',
          { class: 'component-name' },
          h('span', { class: 'twisty', 'aria-hidden': 'true' }),
          row.mark?.(),
          h('span', { class: 'figure-name' }, breakable(row.name)),
        ),
      ),
      h('td', { class: 'number' }, row.value),
      this.#options.columns[2] === undefined ? null : h('td', { class: 'number' }, row.share ?? ''),
      h('td', { class: 'formula wide-only' }, row.formula ?? ''),
    );
    element.style.setProperty('--level', String(at.level));
    if (at.level === 1 && this.#options.onHover) {
      element.addEventListener('pointerenter', () => this.#options.onHover?.(at.index));
      element.addEventListener('pointerleave', () => this.#options.onHover?.(undefined));
    }
    return element;
  }

  /** What stands under an open row: why it is there, the formula, the exact figure, the source. */
  #factsElement(row: FigureRow, level: number): HTMLTableRowElement {
    const { node } = row;
    const busy = node === undefined;
    const cell = h('td', { colspan: this.#options.columns[2] === undefined ? 3 : 4, class: 'facts-cell' });
    if (node) {
      const { why, source } = node;
      const formula = row.formula ?? node.formula;
      const exact = node.unit === 'bytes' ? `${formatInteger(node.value)} ${say('B')}` : undefined;
      const tensor = tensorText(node);
      if (why) cell.append(h('p', {}, sentence(why)));
      if (formula) cell.append(h('p', { class: 'narrow-only' }, formula));
      cell.append(
        h(
          'p',
          { class: 'quiet' },
          tensor ? `${tensor}, ` : null,
          exact,
          exact && source ? ' · ' : null,
          source && isHttps(source.url)
            ? h('a', { href: source.url, tabindex: 0 }, source.label)
            : (source?.label ?? null),
        ),
      );
    } else {
      cell.append(h('p', { class: 'quiet' }, this.#failure ?? t('opening')));
    }
    const about = row.about?.();
    if (about) cell.append(about);
    const element = h(
      'tr',
      { class: 'facts-row', 'aria-level': level + 1, 'aria-busy': busy && 'true' },
      cell,
    );
    element.style.setProperty('--level', String(level));
    return element;
  }

  #lineOf(target: EventTarget | null): Line | undefined {
    const element = target instanceof Element ? target.closest('tr.figure-row') : null;
    return this.#lines.find((line) => line.element === element);
  }

  #activate(key: string): void {
    this.#active = key;
    for (const line of this.#lines) line.element.tabIndex = line.key === key ? 0 : -1;
  }

  #press(event: MouseEvent): void {
    const line = this.#lineOf(event.target);
    // Whoever marks text to copy it does not mean to close the row.
    if (!line || window.getSelection()?.isCollapsed === false) return;
    this.#activate(line.key);
    line.element.focus({ preventScroll: true });
    this.#toggle(line, !this.#options.open.has(line.key));
  }

  #toggle({ key }: Line, open: boolean): void {
    if (open) this.#options.open.add(key);
    else this.#options.open.delete(key);
    this.#draw();
  }

  #move(event: KeyboardEvent): void {
    const line = this.#lineOf(event.target);
    if (!line || event.altKey || event.ctrlKey || event.metaKey || event.target !== line.element) return;
    const index = this.#lines.indexOf(line);
    const open = this.#options.open.has(line.key);
    const go = (to: Line | undefined) => to?.element.focus();
    switch (event.key) {
      case 'ArrowDown':
        go(this.#lines[index + 1]);
        break;
      case 'ArrowUp':
        go(this.#lines[index - 1]);
        break;
      case 'Home':
        go(this.#lines[0]);
        break;
      case 'End':
        go(this.#lines.at(-1));
        break;
      case 'ArrowRight':
        if (!open) this.#toggle(line, true);
        else if (this.#lines[index + 1]?.parent === line.key) go(this.#lines[index + 1]);
        break;
      case 'ArrowLeft':
        if (open) this.#toggle(line, false);
        else go(this.#lines.find(({ key }) => key === line.parent));
        break;
      case 'Enter':
      case ' ':
        this.#toggle(line, !open);
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}

/** `32 × bf16 [2, 2048, 14336]`. */
function tensorText({ tensor }: DetailNode): string | undefined {
  if (!tensor?.shape) return undefined;
  const count = Math.round(tensor.count * 100) / 100;
  const type = tensor.dtype ? `${tensor.dtype} ` : '';
  return `${count === 1 ? '' : `${count} × `}${type}[${tensor.shape.join(', ')}]`;
}
