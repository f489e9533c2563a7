/**
 * What client and server say to each other beyond the Language Server Protocol. Plain data and names; imports no
 * editor and no protocol library, so both sides and the panel page can use it.
 */
import type { Problem } from '../config/node';
import type { ComputeEstimate, HostMemory, ModelFigures, Part, Peak, Sample, Verdict } from '../estimate';
import type { DetailNode } from '../memory/detail/node';

/** Request, client to server: `BreakdownParams` -> `Breakdown | null` (null: not a training config). */
export const BREAKDOWN_REQUEST = 'oomlint/breakdown';
export interface BreakdownParams {
  readonly uri: string;
}

/**
 * Request, client to server: `DetailParams` -> `Opened | null` (null: there is no estimate to open). Asked when a person
 * opens a figure, never before.
 */
export const DETAIL_REQUEST = 'oomlint/detail';
export interface DetailParams {
  readonly uri: string;
  /** Position in the breakdown's timeline; absent: the peak. */
  readonly sample?: number;
}

/** The figures of a breakdown down to what they are made of, with formulas and sources. */
export interface Opened {
  /** Version of the text that was analysed, where the file is open in an editor. */
  readonly version?: number;
  readonly file: string;
  readonly sample?: number;
  /** Memory of one GPU at that moment: its children are the parts of the breakdown, under their labels. */
  readonly memory: DetailNode;
  /** Every other figure, by name: `process`, `parameters`, `FLOPs per step`. */
  readonly figures: readonly DetailNode[];
}

/** Notification, server to client, after each analysis of an open file; drives the status item and open panels. */
export const STATUS_NOTIFICATION = 'oomlint/status';
export interface StatusParams {
  readonly uri: string;
  /** Version of the text that was analysed. */
  readonly version: number;
  /** Absent: the file is no training config, or is switched off. */
  readonly status?: {
    readonly dialect: string;
    readonly verdict: Verdict;
    /** Short text, for example `41.2 of 79.2 GiB`. */
    readonly text: string;
    /** Longer text for the hover, plain. */
    readonly detail: string;
  };
}

/** Everything that the breakdown panel shows and that `oomlint estimate --format json` prints per run. */
export interface Breakdown {
  /** Version of the text that was analysed, where the file is open in an editor. */
  readonly version?: number;
  readonly file: string;
  readonly files: readonly string[];
  readonly dialect: { readonly id: string; readonly name: string };
  readonly model?: { readonly id: string; readonly modelType: string } & ModelFigures;
  readonly hardware?: {
    readonly gpu: string;
    readonly gpus: number;
    readonly nodes: number;
    readonly capacityBytes: number;
  };
  readonly verdict: Verdict;
  readonly peak?: Peak;
  readonly parts: readonly Part[];
  readonly timeline: readonly Sample[];
  /** Host memory of a node at the moment that needs most of it; absent while the run is not complete. */
  readonly host?: HostMemory;
  readonly hostBytesPerNode: number;
  readonly hostParts: readonly { readonly label: string; readonly bytes: number }[];
  readonly compute?: ComputeEstimate;
  /** Values that were not stated by the file itself, with who says so. */
  readonly assumptions: readonly {
    readonly field: string;
    readonly value: unknown;
    readonly source: string;
    readonly link?: string;
  }[];
  readonly unknown: readonly { readonly field: string; readonly reason: string }[];
  readonly notes: readonly string[];
  readonly diagnostics: readonly Problem[];
}

/** Command of the editor's side: opens the breakdown panel. */
export const ESTIMATE_COMMAND = 'oomlint.estimateMemory';
/** Only argument of `ESTIMATE_COMMAND` where the server names it. */
export interface EstimateArguments {
  readonly uri: string;
}

/** Command of the editor's side: asks for facts that nobody states. */
export const SUPPLY_COMMAND = 'oomlint.supply';
/** Only argument of `SUPPLY_COMMAND`: what is missing before this file's run can be estimated. */
export interface SupplyArguments {
  readonly uri: string;
  readonly fields: readonly string[];
}

/** What the client sends as `initializationOptions`. */
export interface InitializationOptions {
  /** False in an untrusted workspace: no program is run to find out about this machine's GPUs. */
  readonly trusted?: boolean;
}
