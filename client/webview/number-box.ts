import { formatInteger, plainNumber } from '../../server/src/shared/words';
import { h } from './element';

/** Another number than a slider's steps is one too, up to what is believed to be meant. */
const LARGEST = 1_000_000_000;

/** What a text stands for: a whole number from 1 on, as people write one (`4,096`, `4 096`); undefined where it is none. */
function wholeNumber(text: string): number | undefined {
  const plain = plainNumber(text, true).replaceAll('_', '');
  const value = /^\d{1,10}$/.test(plain) ? Number(plain) : 0;
  return value >= 1 && value <= LARGEST ? value : undefined;
}

/**
 * A box to type a whole number into. A box that a browser has for numbers swallows commas and blanks: this one reads them, and the arrow
 * keys count in it as in those.
 */
export class NumberBox {
  readonly element: HTMLInputElement;

  /** `typed` gets each number that stands there by a person's hand. */
  constructor(id: string, label: string, typed: (value: number) => void) {
    const box = h('input', {
      type: 'text',
      class: 'number-box',
      inputmode: 'numeric',
      autocomplete: 'off',
      role: 'spinbutton',
      id,
      'data-key': id,
      'aria-label': label,
      'aria-valuemin': 1,
      'aria-valuemax': LARGEST,
    });
    this.element = box;
    box.addEventListener('input', () => {
      const value = wholeNumber(box.value);
      box.setAttribute('aria-invalid', String(value === undefined));
      if (value !== undefined) typed(value);
    });
    box.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
      const value = wholeNumber(box.value);
      if (by === 0 || value === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const next = Math.min(LARGEST, Math.max(1, value + by));
      box.value = String(next);
      if (next !== value) typed(next);
    });
  }

  show(value: number): void {
    // Who types `08` on the way to `8`, or `4,096`, is not interrupted.
    if (wholeNumber(this.element.value) !== value) this.element.value = String(value);
    this.element.setAttribute('aria-invalid', 'false');
    this.element.setAttribute('aria-valuenow', String(value));
    this.element.setAttribute('aria-valuetext', formatInteger(value));
  }
}
