import type { FieldPath, FieldValue, RunValues, TrainingRun } from '../run/fields';

/** A value to be written, in the terms of the file. Undefined takes the key away. */
export type Written =
  | string
  | number
  | boolean
  | null
  | readonly Written[]
  | { readonly [key: string]: Written }
  | undefined;

/** A key of a family and the value that states what is wanted; a value of undefined takes the key away. */
export interface Word {
  /** Dotted path below the block that holds the family's keys. */
  readonly key: string;
  readonly value: Written;
}

/** What a family needs to know to choose its words. */
export interface Wish {
  /** The run as it is. */
  readonly run: TrainingRun;
  /** All that is to change with it. */
  readonly changes: RunValues;
  /** Path of a DeepSpeed config that is made for the run, as the file has to name it. */
  readonly deepspeed?: string;
  /** The value of a key as it stands in the file, as text; undefined where there is none. */
  readonly text: (key: string) => string | undefined;
  /** Items of a list in the file. */
  readonly items: (key: string) => readonly string[];
}

type Speak<P extends FieldPath> = (value: FieldValue<P>, wish: Wish) => readonly Word[] | undefined;

/** A family's words by field. A field that is absent is stated by the rows of its key table, where one states it plainly. */
export type Words = { readonly [P in FieldPath]?: Speak<P> };

export const word = (key: string, value: Written): Word => ({ key, value });

/** Words for one of several values; undefined for the others. */
export function oneOf<V extends string>(
  key: string,
  spellings: Readonly<Partial<Record<V, Written>>>,
): (value: V) => readonly Word[] | undefined {
  return (value) => {
    const written = spellings[value];
    return written === undefined ? undefined : [word(key, written)];
  };
}

/** Removes keys that stand in the file and would contradict. */
export function without({ text }: Wish, ...keys: readonly string[]): Word[] {
  return keys.filter((key) => text(key) !== undefined).map((key) => word(key, undefined));
}
