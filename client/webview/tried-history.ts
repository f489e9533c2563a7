import type { RunValues } from '../../server/src/shared/fields';
import type { Turned } from '../../server/src/shared/protocol';

/** A change that is tried as a whole: a fix, or what a search found. */
export interface TriedChange {
  /** Of a fix: it is written as it was found. */
  readonly id?: string;
  readonly name: string;
  readonly values: RunValues;
}

/** What is tried at a time: knobs, above a change as a whole. */
export interface TriedStep {
  readonly turned: Turned;
  readonly fix: TriedChange | undefined;
}

/** Turns of the same knob that follow closer than this are one: a slider that is dragged. Milliseconds. */
const ONE_TURN_MS = 800;

/** What was tried before, to go back to and forth again. */
export class TriedHistory {
  readonly #past: TriedStep[] = [];
  readonly #future: TriedStep[] = [];
  #turnedAt = Number.NEGATIVE_INFINITY;
  #knobs = '';

  get canUndo(): boolean {
    return this.#past.length > 0;
  }

  get canRedo(): boolean {
    return this.#future.length > 0;
  }

  /** Something else is about to be tried than `present`. `now`: milliseconds of a clock. */
  leave(present: TriedStep, next: TriedStep, now: number): void {
    const knobs = changed(present.turned, next.turned);
    const goesOn =
      knobs === this.#knobs && now - this.#turnedAt < ONE_TURN_MS && present.fix?.name === next.fix?.name;
    if (!goesOn || this.#past.length === 0) this.#past.push(present);
    this.#knobs = knobs;
    this.#turnedAt = now;
    this.#future.length = 0;
  }

  undo(present: TriedStep): TriedStep | undefined {
    return this.#move(this.#past, this.#future, present);
  }

  redo(present: TriedStep): TriedStep | undefined {
    return this.#move(this.#future, this.#past, present);
  }

  clear(): void {
    this.#past.length = 0;
    this.#future.length = 0;
    this.#turnedAt = Number.NEGATIVE_INFINITY;
  }

  #move(from: TriedStep[], to: TriedStep[], present: TriedStep): TriedStep | undefined {
    const step = from.pop();
    if (step) to.push(present);
    // What is turned next is a turn of its own.
    this.#turnedAt = Number.NEGATIVE_INFINITY;
    return step;
  }
}

/** Names of the knobs that stand elsewhere. */
function changed(one: Turned, other: Turned): string {
  const ids = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof Turned>;
  return [...ids]
    .filter((id) => one[id] !== other[id])
    .sort()
    .join();
}
