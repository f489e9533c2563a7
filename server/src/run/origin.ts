import type { FieldPath, FieldValue } from './fields';

/** Zero-based line and UTF-16 character, as editors count. */
export interface Position {
  readonly line: number;
  readonly character: number;
}
/** Half-open stretch of a file. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
  /** The file that it lies in, where that is another than the one that is read: what configs that start from others take in. */
  readonly uri?: string;
}
/** A place in a file. */
export interface Location {
  readonly uri: string;
  readonly range: Range;
}

/** Where a range lies that was found in reading a file. */
export function locationOf(range: Range, read: string): Location {
  const { start, end, uri } = range;
  return uri === undefined ? { uri: read, range } : { uri, range: { start, end } };
}

/**
 * Strongest first: who said so decides which of two statements of one field counts. `overriding-file` is a file that takes
 * this one in and overrides it, such as a launch script with the flags that it gives beside a recipe.
 */
export const ORIGIN_KINDS = [
  'command-line',
  'overriding-file',
  'file',
  'directive',
  'linked-file',
  'project',
  'setting',
  'detected',
  'default',
  'inferred',
] as const;
export type OriginKind = (typeof ORIGIN_KINDS)[number];

/** Where a value came from. Hovers, related locations, fixes and the list of assumptions read this. */
export interface Origin {
  readonly kind: OriginKind;
  /** The place that states it: the value's range (for file, linked-file, directive and project). */
  readonly location?: Location;
  /** Key path in that file, for example `zero_optimization.stage`. */
  readonly key?: string;
  /** For people: who says so, for example "DeepSpeed 0.19 default" or "auto, filled by Accelerate from the model". */
  readonly note?: string;
  /** Address of the documentation or source that says so. */
  readonly source?: string;
}

/** One statement about a run: a field, its value, and who says so. */
export type Fact = {
  [P in FieldPath]: { readonly field: P; readonly value: FieldValue<P>; readonly origin: Origin };
}[FieldPath];

/** Builds a fact; the generic keeps field and value in step. */
export function fact<P extends FieldPath>(field: P, value: FieldValue<P>, origin: Origin): Fact {
  return { field, value, origin } as Fact;
}
