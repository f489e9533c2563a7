import type { Compared } from './measured-run';
import type { MeasuredTimeline } from './measured-timeline';

/** What client and server say to each other about runs that were measured. Plain data and names. */

/** Command of the editor's side: a log or a folder of a run is held to the estimate of a config. */
export const COMPARE_RUN_COMMAND = 'oomlint.compareWithRun';
/** Command of the editor's side: writes facts that the run at hand measured to the project file. */
export const LEARN_COMMAND = 'oomlint.learnFromRun';
/** Only argument of both. */
export interface MeasuredArguments {
  readonly uri: string;
}

/** A run that was measured, beside the estimate of its config. */
export interface MeasuredBeside {
  /** Name of the log or folder. */
  readonly run: string;
  /** Each figure beside its like in the estimate. */
  readonly compared: readonly Compared[];
  /** The config was saved after the run wrote its last line: it may be another run by now. */
  readonly changedSince: boolean;
  /** Of the run's memory snapshot, where it left one: the GPU with the highest peak. */
  readonly timeline?: MeasuredTimeline;
}

/** Request, client to server: `MeasuredParams` -> `MeasuredAnswer | null` (null: no estimate, or it was cancelled). */
export const MEASURED_REQUEST = 'oomlint/measured';
export interface MeasuredParams {
  readonly uri: string;
  /** Log, snapshot or folder, as a URI; absent: the run is forgotten. */
  readonly place?: string;
}
export interface MeasuredAnswer {
  readonly beside?: MeasuredBeside;
  /** Why nothing is compared. */
  readonly problem?: string;
}

/** Notification, server to client, while a run is read. */
export const MEASURED_PROGRESS = 'oomlint/measuredProgress';
export interface MeasuredProgress {
  readonly bytes: number;
  readonly file: string;
}

/** Request, client to server: `LearnParams` -> `Learned | null` (null: no run is at hand). */
export const LEARN_REQUEST = 'oomlint/learn';
export interface LearnParams {
  readonly uri: string;
  /** Fields to write; absent: only what there is to choose from is reported. */
  readonly fields?: readonly string[];
}
export interface Learned {
  readonly facts: readonly { readonly field: string; readonly words: string }[];
  /** The project file as it would be, where fields were named. */
  readonly file?: { readonly uri: string; readonly text: string; readonly isNew: boolean };
  readonly problem?: string;
}
