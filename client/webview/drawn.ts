import type { ChartFrame } from './chart-frame';

/** What a part of a view needs after it was drawn. */
interface Part {
  readonly chart?: ChartFrame;
  readonly charts?: readonly ChartFrame[];
  /** Opened figures have come. */
  update?(): void;
  dispose?(): void;
}

/** The parts of a view that go on to live after they were drawn: charts, and those that show opened figures. */
export class Drawn {
  #parts: Part[] = [];

  add(part: Part): void {
    this.#parts.push(part);
  }

  update(): void {
    for (const part of this.#parts) part.update?.();
  }

  /** Draws every chart at a width, for paper. */
  layOut(width: number): void {
    for (const chart of this.#charts) chart.drawAt(width);
  }

  /** Lets go of everything that was drawn. */
  clear(): void {
    for (const chart of this.#charts) chart.dispose();
    for (const part of this.#parts) part.dispose?.();
    this.#parts = [];
  }

  get #charts(): ChartFrame[] {
    return this.#parts.flatMap(({ chart, charts = [] }) => (chart ? [chart, ...charts] : charts));
  }
}
