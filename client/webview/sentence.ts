import { h } from './element';

/** Words as they begin a sentence. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A sentence behind a colon or a dash: its first word as it is inside of one, unless that is a name such as `GPU`. */
export function withinSentence(text: string): string {
  return /^\p{Lu}\p{Ll}/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** A name that may break after its dots, underscores and inner opening signs, and never inside of a word. */
export function breakable(name: string): HTMLElement {
  // A bracket behind a blank stands with what it holds: the blank is where the line ends.
  const parts = name.split(/(?<=[._=/]|\S\()/);
  return h('span', {}, ...parts.flatMap((part, i) => (i > 0 ? [h('wbr'), part] : [part])));
}

export const inlineCode = (text: string): HTMLElement => h('code', {}, breakable(text));

/** A sentence with Markdown's inline code, as nodes. */
export function codeSentence(text: string): (Node | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? inlineCode(part) : part));
}
