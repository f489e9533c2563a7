import type { ConfigDocument } from '../config/node';
import type { Dialect, FileLink, FilledAuto, Reading } from '../dialects/dialect';
import type { EstimateInput } from '../estimate';
import type { Accelerator } from '../hardware/accelerator';
import type { Model } from '../model/model';
import type { Estimate, Verdict } from '../results/estimate';
import type { RunValues } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import type { Unread } from '../run/unread';
import type { Location } from '../text/place';
import type { Problem, Severity } from '../text/problem';
import { lineOfRoot } from '../text/run-root';
import { canonicalUri } from '../text/uri';
import type { ConfigReading } from './config-reading';
import type { OpenAnswer } from './open-questions';

/** A link of a file, followed. */
export interface ResolvedLink extends FileLink {
  /** Undefined where no such file exists. */
  readonly uri?: string;
}

/** One of the runs that a file is part of, distinguished by the file that starts it. */
export interface RunOption {
  /** The file that nobody names: a launch script, a recipe; with its line (`#L12`) where it starts several runs. */
  readonly root: string;
  /** For people: path of the root within its workspace folder, with the line where it starts several runs. */
  readonly name: string;
  /** Where the run starts in a file that starts several; counts from 1. */
  readonly line?: number;
  readonly verdict: Verdict;
  /** How Problems have the verdict, where they have it. */
  readonly severity?: Severity;
  readonly peakBytes?: number;
  readonly capacityBytes?: number;
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
  /** The configs among them, as their families read them, in the order in which the run reads them. */
  readonly members?: readonly ConfigReading[];
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
  /** The run if it had other values; undefined where they make no run. Present where there is an estimate. */
  readonly alternative?: (changes: RunValues) => EstimateInput | undefined;
  /** Files of the run whose syntax is broken: half of one states something else, so there is no estimate until it is whole. */
  readonly broken?: readonly string[];
  /** What of the run's files was not understood: what is reported of the run is not certain where it could decide. */
  readonly unread?: readonly Unread[];
  /**
   * What decides the run and nobody states, with what it would need otherwise; those that change it most first. Worked out when
   * it is asked for.
   */
  readonly answers?: readonly OpenAnswer[];
  /** Syntax, framework rules, cross-file conflicts, and the verdict, in file order. Looked for when they are asked for. */
  readonly problems: readonly Problem[];
}

/** Whether the run of a file is that of another one, which is looked at by itself. A run beside others of its file is not. */
export const isPart = ({ run, uri }: Analysis): boolean =>
  run !== undefined && lineOfRoot(run) === undefined && canonicalUri(run) !== canonicalUri(uri);
