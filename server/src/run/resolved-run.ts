import type { FieldPath, RunValues, TrainingRun } from './fields';
import type { Fact, Origin } from './origin';

/** A run joined from all that is known, with who stated each value. */
export interface ResolvedRun {
  readonly values: RunValues;
  /** Winning origin of each value. */
  readonly origins: Partial<Record<FieldPath, Origin>>;
  /** Statements that lost against a stronger one with another value. */
  readonly overruled: readonly Fact[];
  /** Required fields that nobody supplied, and the model when it is named but not known. */
  readonly unknown: readonly {
    readonly field: FieldPath;
    readonly reason: string;
    /** A value that would do for this run. */
    readonly example?: string;
    /** The file states it, and it does not go with the rest: another statement beside it would not count. */
    readonly stated?: true;
  }[];
  /** Complete run; undefined while something required is unknown. */
  readonly run?: TrainingRun;
}
