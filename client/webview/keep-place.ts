/** Changes what is drawn, and leaves the person where they were: same focus, same open tables. */
export function keepPlace(root: HTMLElement, change: () => void): void {
  const active = document.activeElement;
  const focused = root.contains(active) ? keyOf(active) : undefined;
  const open = new Set([...root.querySelectorAll('details[open]')].map(keyOf));
  change();
  for (const details of root.querySelectorAll('details')) {
    if (open.has(keyOf(details))) details.open = true;
  }
  if (focused !== undefined && document.activeElement !== active) {
    root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

function keyOf(element: Element | null): string | undefined {
  return element instanceof HTMLElement ? element.dataset.key : undefined;
}
