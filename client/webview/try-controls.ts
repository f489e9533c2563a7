import {
  KNOBS,
  type Knob,
  type KnobId,
  type NumberKnob,
  type Turned,
} from '../../server/src/shared/protocol';
import { formatInteger } from '../../server/src/shared/words';
import { h } from './element';
import { keepGlobalBatch } from './global-batch';
import { NumberBox } from './number-box';
import { t } from './strings';

type ChoiceKnob = Extract<Knob, { kind: 'choice' }>;

/** What a knob is called, for people. */
export function knobLabel(id: KnobId): string {
  return t(`knob ${id}`);
}

/** How a position of a knob reads. */
export function positionLabel(knob: Knob, value: number | string): string {
  if (knob.kind === 'number') return typeof value === 'number' ? formatInteger(value) : value;
  return knob.options.find(({ id }) => id === value)?.label ?? String(value);
}

/** Controls for the knobs of a run: a slider with a box for each number, a list for each choice. */
export class TryControls {
  readonly element: HTMLElement;
  readonly #knobs: readonly Knob[];
  readonly #turn: (turned: Turned) => void;
  readonly #updates: (() => void)[] = [];
  readonly #keepsBatch: () => boolean;
  #turned: Turned;

  constructor(
    knobs: readonly Knob[],
    turned: Turned,
    turn: (turned: Turned) => void,
    keepsBatch = () => false,
  ) {
    this.#keepsBatch = keepsBatch;
    this.#knobs = [...knobs].sort((a, b) => KNOBS.indexOf(a.id) - KNOBS.indexOf(b.id));
    this.#turn = turn;
    this.#turned = turned;
    this.element = h(
      'div',
      { class: 'knobs', role: 'group', 'aria-label': t('try') },
      ...this.#knobs.map((knob) => (knob.kind === 'number' ? this.#number(knob) : this.#choice(knob))),
    );
    this.#update();
  }

  /** Puts the knobs somewhere without telling that they were turned. */
  set(turned: Turned): void {
    if (JSON.stringify(turned) === JSON.stringify(this.#turned)) return;
    this.#turned = turned;
    this.#update();
  }

  #at(knob: Knob): number | string {
    return this.#turned[knob.id] ?? knob.value;
  }

  #set(knob: Knob, value: number | string): void {
    const turned = { ...this.#turned };
    if (value === knob.value) delete turned[knob.id];
    else turned[knob.id] = value;
    this.#turned = this.#keepsBatch() ? keepGlobalBatch(this.#knobs, turned, knob.id) : turned;
    this.#update();
    this.#turn(this.#turned);
  }

  #update(): void {
    for (const update of this.#updates) update();
  }

  #frame(knob: Knob, label: HTMLElement, ...controls: HTMLElement[]): HTMLElement {
    const frame = h('div', { class: 'knob' }, label, h('div', { class: 'knob-controls' }, ...controls));
    this.#updates.push(() => frame.classList.toggle('turned', this.#turned[knob.id] !== undefined));
    return frame;
  }

  #number(knob: NumberKnob): HTMLElement {
    const id = `knob-${knob.id}`;
    const box = new NumberBox(id, t('exact', knobLabel(knob.id)), (value) => this.#set(knob, value));
    const slider = h('input', {
      type: 'range',
      'data-key': `${id}-slider`,
      'aria-label': knobLabel(knob.id),
      min: 0,
      max: knob.steps.length - 1,
      step: 1,
    });
    slider.addEventListener('input', () => {
      const value = knob.steps[Number(slider.value)];
      if (value !== undefined) this.#set(knob, value);
    });
    box.element.addEventListener('blur', () => this.#update());
    this.#updates.push(() => {
      const value = Number(this.#at(knob));
      box.show(value);
      const below = knob.steps.filter((step) => step <= value).length - 1;
      slider.value = String(Math.max(0, below));
      slider.setAttribute('aria-valuetext', formatInteger(value));
      const needs = knob.needs;
      const other = needs && this.#knobs.find((one) => one.id === needs.knob);
      const off =
        needs !== undefined && other !== undefined && !needs.values.includes(String(this.#at(other)));
      slider.disabled = off;
      box.element.disabled = off;
      frame.hidden = off;
    });
    const frame = this.#frame(knob, h('label', { for: id }, knobLabel(knob.id)), slider, box.element);
    return frame;
  }

  #choice(knob: ChoiceKnob): HTMLElement {
    const id = `knob-${knob.id}`;
    const list = h('select', { id, 'data-key': id }, ...optionsOf(knob.options));
    list.addEventListener('change', () => this.#set(knob, list.value));
    this.#updates.push(() => {
      list.value = String(this.#at(knob));
    });
    return this.#frame(knob, h('label', { for: id }, knobLabel(knob.id)), list);
  }
}

/** Options below the headings of their groups. */
function optionsOf(options: ChoiceKnob['options']): HTMLElement[] {
  const lists = new Map<string, HTMLOptGroupElement>();
  return options.flatMap(({ id, label, group }): HTMLElement[] => {
    const option = h('option', { value: id }, label);
    if (group === undefined) return [option];
    const known = lists.get(group);
    const list = known ?? h('optgroup', { label: group });
    list.append(option);
    lists.set(group, list);
    return known ? [] : [list];
  });
}
