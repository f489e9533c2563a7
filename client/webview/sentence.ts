import { h } from './element';

/** Words as they begin a sentence. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A name that may break after its dots, underscores and opening signs, and never inside of a word. */
export function breakable(name: string): HTMLElement {
  const parts = name.split(/(?<=[._(=/])/);
  return h('span', {}, ...parts.flatMap((part, i) => (i > 0 ? [h('wbr'), part] : [part])));
}

export const inlineCode = (text: string): HTMLElement => h('code', {}, breakable(text));

/** A sentence with Markdown's inline code, as nodes. */
export function codeSentence(text: string): (Node | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? inlineCode(part) : part));
}
