/** Changes what is drawn, and leaves the person where they were: same focus, same open tables. */
export function keepPlace(root: HTMLElement, change: () => void): void {
  const active = document.activeElement;
  const focused = root.contains(active) ? keyOf(active) : undefined;
  const open = unfoldedIn(root);
  change();
  unfold(root, open);
  if (focused !== undefined && document.activeElement !== active) {
    root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

/** Keys of the tables that are unfolded. */
export function unfoldedIn(root: HTMLElement): string[] {
  return [...root.querySelectorAll('details[open]')].flatMap((details) => keyOf(details) ?? []);
}

export function unfold(root: HTMLElement, keys: readonly string[]): void {
  for (const details of root.querySelectorAll('details')) {
    if (keys.includes(keyOf(details) ?? '')) details.open = true;
  }
}

function keyOf(element: Element | null): string | undefined {
  return element instanceof HTMLElement ? element.dataset.key : undefined;
}
