/**
 * What client and server say to each other about changes of a run's files: what would be written, fixes, and the edits. Plain
 * data and names, as in `protocol.ts`.
 */
import type { Verdict } from '../results/estimate';
import type { FieldPath, RunValues } from '../run/fields';

/** What an edit does to one file, for people. */
export interface FileChange {
  /** Path in the workspace folder. */
  readonly name: string;
  readonly uri: string;
  /** Lines that go and that come. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
  readonly create?: boolean;
  /** Oomlint alone reads it: the training does not change by it. */
  readonly note?: boolean;
}

/**
 * Request, client to server: `PlanParams` -> `Planned | null`. What `APPLY_REQUEST` would write for these values: every file, and
 * the run as the changed files say it. Some ten milliseconds.
 */
export const PLAN_REQUEST = 'oomlint/plan';
export interface PlanParams {
  readonly uri: string;
  readonly values: RunValues;
}
export interface Planned {
  readonly values: RunValues;
  readonly files: readonly FileChange[];
  /** What has to be changed by hand, as sentences in Markdown's inline code. */
  readonly byHand: readonly string[];
  /** Values that cannot be written, with the reason, for people. */
  readonly left: readonly { readonly field: FieldPath; readonly reason: string }[];
  /** As the changed files are read, bytes per GPU; absent where nothing is written. */
  readonly peakBytes?: number;
  readonly verdict?: Verdict;
}

/** Command of the editor's side: shows what a change of the run would write, and writes it where the person agrees. */
export const WRITE_RUN_COMMAND = 'oomlint.writeRun';
/** Only argument of `WRITE_RUN_COMMAND`. `label`: the change, for people. */
export interface WriteRunArguments {
  readonly uri: string;
  readonly values: RunValues;
  readonly label: string;
}

/**
 * Request, client to server: `ApplyParams` -> `Applied | null`. Edits that make a file's run have these values, in the
 * words of its family, as `PLAN_REQUEST` tells them; the client carries them out.
 */
export const APPLY_REQUEST = 'oomlint/apply';
export interface ApplyParams {
  readonly uri: string;
  readonly values: RunValues;
  /** Id of the fix that is meant: then the edits are those of the fix. */
  readonly fix?: string;
}
export interface Applied {
  /** A `WorkspaceEdit` of the protocol; absent where there is nothing to write. */
  readonly edit?: object;
  /** What has to be changed by hand, as sentences. */
  readonly byHand: readonly string[];
  /** Values that no edit could be found for, with what to do instead, for people. */
  readonly left: readonly { readonly field: FieldPath; readonly reason: string }[];
}

/**
 * Request, client to server: `FixesParams` -> `FixCards | null` (null: no estimate). Fixes of a run that does not fit or hardly
 * fits, least change first; each was written, read again and estimated. Up to a second, in slices.
 */
export const FIXES_REQUEST = 'oomlint/fixes';
export interface FixesParams {
  readonly uri: string;
}
export interface FixCards {
  readonly version?: number;
  readonly fixes: readonly FixCard[];
}
export interface FixCard {
  readonly id: string;
  /** `Activation checkpointing, micro batch 2`. */
  readonly name: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  readonly verdict: Verdict;
  /** Time per token against the run as it is, for people; absent where it is not known. */
  readonly speed?: string;
  /** What it costs beside time, for people: `rounds values`. */
  readonly costs?: string;
  readonly files: readonly FileChange[];
  readonly byHand: readonly string[];
  readonly values: RunValues;
}
