import { CATEGORIES, type Category, type Part } from '../../server/src/shared/protocol';
import { CATEGORY_LABELS } from '../../server/src/shared/words';
import { translated } from './strings';

export function componentLabel(category: Category): string {
  const label = translated(CATEGORY_LABELS[category] ?? category);
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** Parts in the order in which they are stacked, empty ones left out. */
export function stackOrder(parts: readonly Part[]): Part[] {
  return parts
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => CATEGORIES.indexOf(a.category) - CATEGORIES.indexOf(b.category));
}

/** Components that some of these samples or runs hold, in the order in which they are stacked. */
export function heldCategories(all: readonly { readonly parts: readonly Part[] }[]): Category[] {
  return CATEGORIES.filter((category) =>
    all.some(({ parts }) => parts.some((part) => part.category === category && part.bytes > 0)),
  );
}

/** Gives an element the colour of a component, from the theme colours that the extension contributes. */
export function paint<E extends HTMLElement | SVGElement>(element: E, category: Category): E {
  const name = category.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  element.style.setProperty('--component', `var(--vscode-oomlint-${name})`);
  return element;
}
