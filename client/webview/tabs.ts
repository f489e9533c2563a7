import { h } from './element';

interface Tab {
  readonly id: string;
  readonly label: string;
  readonly panel: HTMLElement;
}

/** Tabs (https://www.w3.org/WAI/ARIA/apg/patterns/tabs/): one tab stop, arrow keys move and show. */
export class Tabs {
  readonly element: HTMLElement;
  readonly #tabs: readonly Tab[];
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #onChoose: (id: string) => void;

  constructor(label: string, tabs: readonly Tab[], chosen: string, onChoose: (id: string) => void) {
    this.#tabs = tabs;
    this.#onChoose = onChoose;
    this.#buttons = tabs.map(({ id, label: name }) =>
      h(
        'button',
        {
          type: 'button',
          role: 'tab',
          id: `tab-${id}`,
          'aria-controls': `panel-${id}`,
          'data-key': `tab-${id}`,
        },
        name,
      ),
    );
    this.element = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label }, ...this.#buttons);
    for (const { id, panel } of tabs) {
      panel.id = `panel-${id}`;
      panel.setAttribute('role', 'tabpanel');
      panel.setAttribute('aria-labelledby', `tab-${id}`);
    }
    this.#buttons.forEach((button, index) => {
      button.addEventListener('click', () => this.#choose(index));
      button.addEventListener('keydown', (event) => this.#move(event, index));
    });
    const first = tabs.findIndex(({ id }) => id === chosen);
    this.#show(first < 0 ? 0 : first);
  }

  get panels(): readonly HTMLElement[] {
    return this.#tabs.map(({ panel }) => panel);
  }

  /** Shows a tab by its id. */
  show(id: string): void {
    const index = this.#tabs.findIndex((tab) => tab.id === id);
    if (index >= 0) this.#choose(index);
  }

  #choose(index: number): void {
    this.#show(index);
    const tab = this.#tabs[index];
    if (tab) this.#onChoose(tab.id);
  }

  #show(index: number): void {
    this.#tabs.forEach(({ panel }, at) => {
      panel.hidden = at !== index;
    });
    this.#buttons.forEach((button, at) => {
      button.setAttribute('aria-selected', String(at === index));
      button.tabIndex = at === index ? 0 : -1;
    });
  }

  #move(event: KeyboardEvent, index: number): void {
    const last = this.#buttons.length - 1;
    const target = new Map([
      ['ArrowRight', index === last ? 0 : index + 1],
      ['ArrowLeft', index === 0 ? last : index - 1],
      ['Home', 0],
      ['End', last],
    ]).get(event.key);
    if (target === undefined) return;
    event.preventDefault();
    this.#choose(target);
    this.#buttons[target]?.focus();
  }
}
