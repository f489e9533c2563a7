import type { ConfigDocument, Problem } from '../config/node';
import type { Dialect, FileLink, Reading } from '../dialects/dialect';
import type { Estimate, Verdict } from '../estimate';
import type { Accelerator } from '../hardware/accelerator';
import type { Model } from '../model/model';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import type { Fact, Location, Origin } from '../run/origin';

/** A link of a file, followed. */
export interface ResolvedLink extends FileLink {
  /** Undefined where no such file exists. */
  readonly uri?: string;
}

/** Where a DeepSpeed file says `auto`: what the caller's value makes of it. */
export interface FilledAuto {
  readonly key: string;
  readonly value: string;
  /** Argument that it comes from; undefined where the Trainer always fills in the same. */
  readonly argument?: string;
  readonly location?: Location;
  readonly source: string;
}

/** One of the runs that a file is part of, told apart by the file that starts it. */
export interface RunOption {
  /** The file that nobody names: a launch script, a recipe. */
  readonly root: string;
  /** For people: path of the root within its workspace folder. */
  readonly name: string;
  readonly verdict: Verdict;
  readonly peakBytes?: number;
  readonly capacityBytes?: number;
}

/** A run joined from all that is known, with who said each value. */
export interface ResolvedRun {
  readonly values: RunValues;
  /** Winning origin of each value. */
  readonly origins: Partial<Record<FieldPath, Origin>>;
  /** Statements that lost against a stronger one with another value. */
  readonly overruled: readonly Fact[];
  /** Required fields that nobody supplied, and the model when it is named but not known. */
  readonly unknown: readonly { readonly field: FieldPath; readonly reason: string }[];
  /** Complete run; undefined while something required is unknown. */
  readonly run?: TrainingRun;
}

/** Everything known about one config file: the only thing that features and the command line look at. */
export interface Analysis {
  readonly uri: string;
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
  readonly links: readonly ResolvedLink[];
  /** Files that took part: this one, linked ones, linking ones, the project file. */
  readonly files: readonly string[];
  /** Runs that this file is part of, worst first; the figures are those of `run`. Empty where nobody names the file. */
  readonly runs?: readonly RunOption[];
  /** Root of the run that is shown. */
  readonly run?: string;
  /** Places in other files that name this one. */
  readonly usedBy?: readonly Location[];
  /** What the caller puts in the place of `auto`. */
  readonly filled?: readonly FilledAuto[];
  readonly resolved: ResolvedRun;
  readonly model?: Model;
  readonly accelerator?: Accelerator;
  /** Present when the run is complete. */
  readonly estimate?: Estimate;
  /** Syntax, framework rules, cross-file conflicts, and the verdict, in file order. */
  readonly problems: readonly Problem[];
}
