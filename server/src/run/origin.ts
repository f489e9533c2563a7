import type { Location } from '../text/place';
import type { FieldPath, FieldValue, RunValues } from './fields';

/**
 * Strongest first: who stated it decides which of two statements of one field counts. `overriding-file` is a file that takes
 * this one in and overrides it, such as a launch script with the flags that it gives beside a recipe; `environment` are lock files
 * and other files that name versions of packages.
 */
export const ORIGIN_KINDS = [
  'command-line',
  'overriding-file',
  'file',
  'directive',
  'linked-file',
  'project',
  'setting',
  'environment',
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
  /** For people: who states it, for example "DeepSpeed 0.19 default" or "auto, filled by Accelerate from the model". */
  readonly note?: string;
  /** Address of the documentation or source that states it. */
  readonly source?: string;
  /** The value stands in for one that nobody states and that decides what the run needs. */
  readonly guess?: boolean;
  /** The guess is the most that it may be: a limit, which people set freely. */
  readonly atMost?: boolean;
  /** A release of the framework asks for exactly this version: the one that is there, or the newest where nobody states which is. */
  readonly pinned?: 'by-known-release' | 'by-newest-release';
  /** The other end of what the statement allows, such as the oldest version; of a guess another value that may be as right. */
  readonly orElse?: string;
  /** What the run was when this was measured: it is not known of a run with other values. */
  readonly while?: RunValues;
  /** The value that is stated, where something else states that only less of it is used. */
  readonly before?: number;
}

/** Whether somebody states it, rather than a framework that fills it in, or values that it follows from. */
export const isStated = (origin: Origin | undefined): boolean =>
  origin !== undefined && origin.kind !== 'default' && origin.kind !== 'inferred';

/** One statement about a run: a field, its value, and who states it. */
export type Fact = {
  [P in FieldPath]: { readonly field: P; readonly value: FieldValue<P>; readonly origin: Origin };
}[FieldPath];

/** Builds a fact; the generic keeps field and value in step. */
export function fact<P extends FieldPath>(field: P, value: FieldValue<P>, origin: Origin): Fact {
  return { field, value, origin } as Fact;
}
