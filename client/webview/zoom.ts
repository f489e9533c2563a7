/** A stretch of an axis, in its units. */
export interface AxisRange {
  readonly from: number;
  readonly to: number;
}

/** Of what is in view, by one key or one notch of the wheel. */
const STEP = 0.6;
/** Pixels: a pointer that moves less has clicked. */
const LEAST_DRAG = 6;

/** A stretch of `whole` around a place, `factor` as long, at least `least`; undefined where that is all of it. */
function zoomed(
  view: AxisRange,
  whole: AxisRange,
  { at, factor, least }: { readonly at: number; readonly factor: number; readonly least: number },
): AxisRange | undefined {
  const length = Math.max(least, (view.to - view.from) * factor);
  if (length >= whole.to - whole.from) return undefined;
  const share = (at - view.from) / (view.to - view.from);
  return keptWithin({ from: at - share * length, to: at + (1 - share) * length }, whole);
}

/** The stretch, moved so that it lies within the whole. */
function keptWithin({ from, to }: AxisRange, whole: AxisRange): AxisRange {
  const move = Math.max(0, whole.from - from) - Math.max(0, to - whole.to);
  return { from: from + move, to: to + move };
}

interface ZoomOptions {
  /** What there is to see. */
  readonly whole: AxisRange;
  /** What was in view of the figures before. */
  readonly view?: AxisRange;
  /** Shorter stretches show nothing more. */
  readonly least: number;
  /** Place on the axis under a pointer; undefined before anything is drawn. */
  placeOf(event: MouseEvent): number | undefined;
  /** Place that keys zoom at. */
  middle(): number;
  /** Shows the pointer's stretch while it is dragged; undefined when it ends. */
  dragged(stretch: AxisRange | undefined): void;
  changed(): void;
}

/**
 * What is in view of a chart's axis: a drag picks a stretch, Ctrl with the wheel (or two fingers) and the keys + and − zoom, 0 shows all.
 * The wheel alone scrolls the page.
 */
export class Zoom {
  readonly #options: ZoomOptions;
  #view: AxisRange | undefined;

  constructor(canvas: HTMLElement, options: ZoomOptions) {
    this.#options = options;
    const { view, whole } = options;
    // A shorter axis has no room for what was in view of a longer one.
    this.#view = view && view.from >= whole.from && view.to <= whole.to ? view : undefined;
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const factor = { '+': STEP, '=': STEP, '-': 1 / STEP, '0': Number.POSITIVE_INFINITY }[event.key];
      if (factor === undefined) return;
      event.preventDefault();
      this.#by(factor, options.middle());
    });
    canvas.addEventListener(
      'wheel',
      (event) => {
        const at = options.placeOf(event);
        if (!event.ctrlKey || at === undefined) return;
        event.preventDefault();
        this.#by(event.deltaY < 0 ? STEP : 1 / STEP, at);
      },
      { passive: false },
    );
    this.#followDrags(canvas);
  }

  /** Undefined: all is in view. */
  get view(): AxisRange | undefined {
    return this.#view;
  }

  reset(): void {
    this.#set(undefined);
  }

  /** Moves the view so that a stretch is seen. */
  reveal({ from, to }: AxisRange): void {
    const view = this.#view;
    if (!view || (from < view.to && to > view.from)) return;
    const half = (view.to - view.from) / 2;
    const middle = (from + to) / 2;
    this.#set(keptWithin({ from: middle - half, to: middle + half }, this.#options.whole));
  }

  #by(factor: number, at: number): void {
    const { whole, least } = this.#options;
    const view = this.#view ?? whole;
    const place = Math.min(view.to, Math.max(view.from, at));
    this.#set(zoomed(view, whole, { at: place, factor, least }));
  }

  #set(view: AxisRange | undefined): void {
    if (view === this.#view) return;
    this.#view = view;
    this.#options.changed();
  }

  #followDrags(canvas: HTMLElement): void {
    const { placeOf, dragged, least } = this.#options;
    let start: { readonly at: number; readonly x: number } | undefined;
    let stretch: AxisRange | undefined;
    let hasDragged = false;
    canvas.addEventListener('pointerdown', (event) => {
      const at = event.button === 0 ? placeOf(event) : undefined;
      start = at === undefined ? undefined : { at, x: event.clientX };
      hasDragged = false;
    });
    canvas.addEventListener('pointermove', (event) => {
      const at = placeOf(event);
      if (!start || at === undefined || Math.abs(event.clientX - start.x) < LEAST_DRAG) return;
      hasDragged = true;
      stretch = { from: Math.min(start.at, at), to: Math.max(start.at, at) };
      dragged(stretch);
    });
    const end = () => {
      start = undefined;
      const picked = stretch;
      stretch = undefined;
      if (!picked) return;
      dragged(undefined);
      const grow = Math.max(0, least - (picked.to - picked.from)) / 2;
      this.#set(keptWithin({ from: picked.from - grow, to: picked.to + grow }, this.#options.whole));
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointerleave', end);
    // A drag is no click on what lies under its end.
    canvas.addEventListener(
      'click',
      (event) => {
        if (hasDragged) event.stopImmediatePropagation();
        hasDragged = false;
      },
      { capture: true },
    );
  }
}
