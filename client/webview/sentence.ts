import { h } from './element';

/** Words as they begin a sentence. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A sentence with Markdown's inline code, as nodes. */
export function codeSentence(text: string): (Node | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part));
}
