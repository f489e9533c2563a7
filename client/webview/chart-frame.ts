import type { Announcer } from './announcer';
import { figuresKept, h } from './element';
import { t } from './strings';

interface ChartItem {
  /** Shown under the chart while the item is chosen, and spoken. */
  readonly text: string;
}

interface Drawing {
  readonly element: SVGSVGElement;
  /** Marks the item in the drawing; undefined: none is chosen. */
  mark(index: number | undefined): void;
  /** Item under a point of the drawing. */
  itemAt(event: MouseEvent): number | undefined;
}

interface ChartOptions {
  readonly key: string;
  readonly label: string;
  readonly items: readonly ChartItem[];
  /** What stands under the chart while nothing is chosen. */
  readonly hint: string;
  /** Items that Page Up and Page Down stop at. */
  readonly landmarks?: readonly number[];
  draw(width: number): Drawing;
  onChoose?(index: number | undefined): void;
  /** Enter, or a click on an item. */
  onOpen?(index: number): void;
}

/** Position of the element that an event is over; undefined over none of them. */
export function holderOf(elements: readonly Element[], { target }: Event): number | undefined {
  const index = elements.findIndex((element) => target instanceof Node && element.contains(target));
  return index < 0 ? undefined : index;
}

/**
 * What every chart here shares: one tab stop, arrow keys from item to item, one line of text about the chosen item,
 * drawn again when its width changes.
 */
export class ChartFrame {
  readonly element: HTMLElement;
  readonly #options: ChartOptions;
  readonly #canvas = h('div', { class: 'canvas' });
  readonly #detail: HTMLElement;
  readonly #announcer: Announcer;
  readonly #resize: ResizeObserver;
  #drawing: Drawing | undefined;
  #width = 0;
  #chosen: number | undefined;

  constructor(options: ChartOptions, announcer: Announcer) {
    this.#options = options;
    this.#announcer = announcer;
    this.#detail = h('span', {}, ...figuresKept(options.hint));
    // Its room is that of the hint at least: what stands below does not move away from under the pointer.
    const details = h('p', { class: 'chart-detail', 'data-hint': options.hint }, this.#detail);
    this.#canvas.tabIndex = 0;
    this.#canvas.dataset.key = options.key;
    this.#canvas.setAttribute('role', 'group');
    this.#canvas.setAttribute('aria-roledescription', t('chart'));
    this.#canvas.setAttribute(
      'aria-label',
      t(options.onOpen ? 'arrowKeysEnter' : 'arrowKeys', options.label),
    );
    this.element = h('div', { class: 'chart' }, this.#canvas, details);

    this.#canvas.addEventListener('keydown', (event) => this.#move(event));
    this.#canvas.addEventListener('blur', () => this.choose(undefined));
    this.#canvas.addEventListener('pointermove', (event) => {
      this.choose(this.#drawing?.itemAt(event));
    });
    this.#canvas.addEventListener('pointerleave', () => this.choose(undefined));
    this.#canvas.addEventListener('click', (event) => {
      const index = this.#drawing?.itemAt(event);
      if (index !== undefined) options.onOpen?.(index);
    });
    this.#resize = new ResizeObserver(() => this.#redraw());
    this.#resize.observe(this.#canvas);
  }

  dispose(): void {
    this.#resize.disconnect();
  }

  /** Another line under the chart than that of the chosen item, as long as the same item is chosen. */
  tell(text: string): void {
    this.#detail.replaceChildren(...figuresKept(text));
  }

  /** Draws at a width, for paper: there the chart is laid out before anybody can be asked. */
  drawAt(width: number): void {
    this.#width = width;
    this.#drawing = this.#options.draw(width);
    this.#drawing.mark(this.#chosen);
    this.#canvas.replaceChildren(this.#drawing.element);
  }

  /** Draws anew what the same chart shows otherwise now. */
  redraw(): void {
    if (this.#width > 0) this.drawAt(this.#width);
  }

  /** What takes the focus, the keys and the pointer. */
  get canvas(): HTMLElement {
    return this.#canvas;
  }

  choose(index: number | undefined): void {
    if (index === this.#chosen) {
      return;
    }
    this.#chosen = index;
    this.#drawing?.mark(index);
    const item = index === undefined ? undefined : this.#options.items[index];
    this.#detail.replaceChildren(...figuresKept(item?.text ?? this.#options.hint));
    this.#options.onChoose?.(index);
  }

  #redraw(): void {
    const width = Math.floor(this.#canvas.clientWidth);
    if (width > 0 && width !== this.#width) this.drawAt(width);
  }

  #move(event: KeyboardEvent): void {
    if (event.key === 'Enter' && this.#chosen !== undefined && this.#options.onOpen) {
      event.preventDefault();
      this.#options.onOpen(this.#chosen);
      return;
    }
    const next = this.#target(event.key);
    if (next === undefined) {
      return;
    }
    event.preventDefault();
    this.choose(next);
    this.#announcer.say(this.#options.items[next]?.text ?? '');
  }

  #target(key: string): number | undefined {
    const last = this.#options.items.length - 1;
    const from = this.#chosen ?? -1;
    const landmarks = this.#options.landmarks ?? [0, last];
    if (last < 0) {
      return undefined;
    }
    switch (key) {
      case 'ArrowRight':
      case 'ArrowDown':
        return Math.min(from + 1, last);
      case 'ArrowLeft':
      case 'ArrowUp':
        return Math.max(from - 1, 0);
      case 'Home':
        return 0;
      case 'End':
        return last;
      case 'PageDown':
        return landmarks.find((landmark) => landmark > from) ?? last;
      case 'PageUp':
        return landmarks.filter((landmark) => landmark < from).pop() ?? 0;
      default:
        return undefined;
    }
  }
}
