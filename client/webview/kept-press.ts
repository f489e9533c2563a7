/** A press counts for the button that it began on, also where an answer drew that button anew before the press ended. */
export function keepPresses(root: HTMLElement): void {
  let pressed: HTMLElement | null = null;
  root.addEventListener('pointerdown', ({ target, button }) => {
    pressed = button === 0 ? keyedButton(target) : null;
  });
  root.addEventListener('pointerup', ({ target }) => {
    const began = pressed;
    pressed = null;
    // The browser has no click where what was pressed is gone.
    if (!began || began.isConnected) return;
    const now = keyedButton(target);
    if (now?.dataset.key === began.dataset.key) now?.click();
  });
}

function keyedButton(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('button[data-key]') : null;
}
