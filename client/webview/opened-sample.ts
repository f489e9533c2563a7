import type { Sample } from '../../server/src/shared/protocol';
import { ComponentTable } from './component-table';
import { stackOrder } from './components';
import { button, h } from './element';
import type { OpenedFigures } from './opened-figures';
import { sentence } from './sentence';
import { t } from './strings';

/** Parts of the one sample of a timeline that is open, under its chart. */
export class OpenedSample {
  readonly element = h('div', { class: 'chosen-sample' });
  readonly #samples: readonly Sample[];
  readonly #opened: OpenedFigures;
  #table: ComponentTable | undefined;

  constructor(samples: readonly Sample[], opened: OpenedFigures) {
    this.#samples = samples;
    this.#opened = opened;
  }

  /** Undefined closes it. */
  open(index: number | undefined): void {
    const sample = index === undefined ? undefined : this.#samples[index];
    this.#opened.sample = sample && index;
    this.#table = undefined;
    this.element.replaceChildren();
    if (!sample || index === undefined) return;
    this.#table = new ComponentTable(stackOrder(sample.parts), index, this.#opened, {
      label: t('sampleTable', sample.label),
    });
    this.element.append(
      h(
        'h3',
        {},
        sentence(sample.label),
        button(t('close'), { class: 'link', 'data-key': 'close-sample' }, () => this.open(undefined)),
      ),
      h('div', { class: 'wide' }, this.#table.tree.element),
    );
  }

  /** Shows what was answered since. */
  update(): void {
    this.#table?.update();
  }
}
