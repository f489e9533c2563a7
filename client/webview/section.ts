import { h } from './element';

/** A part of the page under its heading. */
export function section(title: string, ...children: Node[]): HTMLElement {
  return h('section', {}, h('h2', {}, title), ...children);
}
