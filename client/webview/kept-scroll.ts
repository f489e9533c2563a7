/** Scrolling is written down once it rests. */
const REST_MS = 150;
/** So long a page that is where it was may still grow above: charts are drawn, and opened figures come. */
const GROWING_MS = 1500;

/**
 * How far the page is scrolled, over a reload: a page that comes up is as high as what came so far, so it is scrolled again
 * whenever `content` grows, until it rests where it was or a person goes elsewhere.
 */
export class KeptScroll {
  /** Where the page still has to go. */
  #target: number | undefined;
  #arrived: number | undefined;

  constructor(content: HTMLElement, target: number | undefined, rested: () => void) {
    this.#target = target;
    new ResizeObserver(() => this.#approach()).observe(content);
    for (const event of ['wheel', 'pointerdown', 'keydown', 'touchstart'])
      window.addEventListener(event, () => this.forget(), { passive: true, capture: true });
    let resting: number | undefined;
    window.addEventListener('scroll', () => {
      window.clearTimeout(resting);
      resting = window.setTimeout(rested, REST_MS);
    });
  }

  /** Pixels from the top. */
  get top(): number {
    return this.#target ?? Math.round(window.scrollY);
  }

  /** The page stays where it is from now on. */
  forget(): void {
    this.#target = undefined;
  }

  #approach(): void {
    if (this.#target === undefined) return;
    window.scrollTo(0, this.#target);
    if (Math.abs(window.scrollY - this.#target) < 1)
      this.#arrived ??= window.setTimeout(() => this.forget(), GROWING_MS);
  }
}
