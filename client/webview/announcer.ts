import { h } from './element';

/** Speaks the item that has the focus, and only that: a polite live region outside what is drawn anew. */
export class Announcer {
  readonly element = h('div', { class: 'spoken', 'aria-live': 'polite', 'aria-atomic': 'true' });

  say(text: string): void {
    this.element.textContent = text;
  }
}
