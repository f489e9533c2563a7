import type { FieldPath, RunValues } from './fields';

/**
 * Something that decides what a run needs and that no file of it states: how a recipe is launched, whether a script switches
 * activation checkpointing on, which of several versions is installed. A default stands in for it.
 */
export interface OpenQuestion {
  /** The field whose default stands in. */
  readonly field: FieldPath;
  /** Who would state it, as a sentence: `No file shows how the run is launched.` */
  readonly reason: string;
  /** The other answer that is the likeliest, in the run's terms and in words; undefined where there is none to try. */
  readonly otherwise?: { readonly changes: RunValues; readonly words: string };
  /** The other answer is one of many: that it does not fit either proves nothing. */
  readonly oneOfMany?: boolean;
  /** Both answers are as likely as each other: the estimate covers them both. */
  readonly even?: boolean;
}
