import { FIGURE_UNIT } from '../../server/src/shared/words';

type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element. `true` sets an empty attribute, `false` and undefined none. Text is always text, never markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, PROSE.has(tag) ? children.flatMap(kept) : children);
}

/** Elements whose text runs over lines. */
const PROSE: ReadonlySet<string> = new Set(['h1', 'h2', 'h3', 'p', 'li', 'td', 'dd']);
const NUMBER = String.raw`(?<![\p{L}\d-])\$?\d[\d.,\u00a0\u202f]*`;
/** A figure with its unit; `2 × 32 MiB`, `1 × 4096`: a product; `(5,360 to 14,600)`, `0-31`: a range. */
const KEPT = new RegExp(
  [
    String.raw`\((?:\p{L}{1,3} )?${NUMBER} \p{L}{1,3} ${NUMBER}\)`,
    `(?:${NUMBER} × )*${FIGURE_UNIT.source}`,
    String.raw`${NUMBER}(?: × \d[\d.,\u00a0\u202f]*)+(?![\p{L}\d])`,
    String.raw`(?<![\p{L}\d-])\d+-\d+(?![\p{L}\d-])`,
  ]
    .map((kept) => `(?:${kept})`)
    .join('|')
    .replace(/^.*$/su, '($&)'),
  'u',
);

/** Text in which no line ends between a figure and its unit: the same characters, some in elements of their own. */
export function figuresKept(text: string): (Node | string)[] {
  return text
    .split(KEPT)
    .map((part, at) => (at % 2 === 1 ? h('span', { class: 'figure-unit' }, part) : part));
}

const kept = (child: Child): Child[] => (typeof child === 'string' ? figuresKept(child) : [child]);

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children) {
    if (child) {
      element.append(child);
    }
  }
  return element;
}

export function button(label: string, attributes: Attributes, onPress: () => void): HTMLButtonElement {
  const element = h('button', { type: 'button', ...attributes }, label);
  element.addEventListener('click', onPress);
  return element;
}
