/**
 * What client and server say to each other beyond the Language Server Protocol. Plain data and names; imports no
 * editor and no protocol library, so both sides and the panel page can use it.
 */

import type { DetailNode } from '../results/detail-node';
import type {
  Category,
  ComputeEstimate,
  FoundBatch,
  HostMemory,
  ModelFigures,
  Part,
  Peak,
  Sample,
  Verdict,
} from '../results/estimate';
import type { FieldPath, RunValues } from '../run/fields';
import type { OriginKind } from '../run/origin';
import type { Unread } from '../run/unread';
import type { Position, Range } from '../text/place';
import type { Problem, Severity } from '../text/problem';
import type { OpenAnswer } from '../workspace/open-questions';
import type { MeasuredBeside } from './measured-protocol';

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
  /** Knobs that are turned: the figures of what is tried. */
  readonly turned?: Turned;
  /** Values of a fix that is tried, below the knobs. */
  readonly values?: RunValues;
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
  /** The cell that trains, where the file is a notebook. */
  readonly cell?: string;
  /** Absent: the file is no training config, or is switched off. */
  readonly status?: {
    readonly dialect: string;
    readonly verdict: Verdict;
    /** The verdict in words: `may not fit` of a run that may fit, with its likely figure above what there is. */
    readonly outcome: string;
    /** How Problems have the verdict, where they have it: an error only where all that decides it is certain. */
    readonly severity?: Severity;
    /** `8×H100-SXM5-80GB`, where it is known. */
    readonly gpu?: string;
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
  /** Without a complete run nobody knows what is trained. */
  readonly model?: { readonly id: string; readonly modelType: string } & Omit<
    ModelFigures,
    'trainableParameters'
  > &
    Partial<Pick<ModelFigures, 'trainableParameters'>>;
  readonly hardware?: {
    readonly gpu: string;
    readonly gpus: number;
    readonly nodes: number;
    readonly capacityBytes: number;
  };
  readonly verdict: Verdict;
  /** The micro batch that the figures are of, where the framework looks for one that fits. */
  readonly foundBatch?: FoundBatch;
  readonly peak?: Peak;
  readonly parts: readonly Part[];
  readonly timeline: readonly Sample[];
  /** Every pipeline stage, not the fullest alone; absent where all GPUs hold the same. */
  readonly ranks?: readonly RankFigures[];
  /** Host memory of a node at the moment that needs most of it; absent while the run is not complete. */
  readonly host?: HostMemory;
  readonly compute?: ComputeEstimate;
  /** Values that were not stated by the file itself, with who states it. */
  readonly assumptions: readonly {
    readonly field: string;
    readonly value: unknown;
    readonly source: string;
    readonly link?: string;
    /** What kind of originName that is. */
    readonly kind: OriginKind;
  }[];
  readonly unknown: readonly {
    readonly field: string;
    readonly reason: string;
    /** A value that would do for this run, where the usual example would not. */
    readonly example?: string;
    /** The file states it, and it does not go with the rest. */
    readonly stated?: true;
  }[];
  readonly notes: readonly string[];
  /** What of the run's files was not understood; absent where all was. */
  readonly notUnderstood?: readonly Unread[];
  /** What decides the run and nobody states, with what it would need otherwise; those that move the peak most first. */
  readonly open?: readonly Decision[];
  readonly diagnostics: readonly Problem[];
  /** Keys of the run's files that shape its memory, for the editor; the one to change first comes first. */
  readonly keys?: readonly CausingKey[];
  /** A run of this config that was measured, where one is at hand; for the editor. */
  readonly measured?: MeasuredBeside;
  /** What can be tried; for the editor, absent while there is no estimate. */
  readonly knobs?: readonly Knob[];
}

/** Something that decides a run and that nobody states. */
interface Decision extends OpenAnswer {
  /** For people: what is assumed, and what the run would need otherwise. */
  readonly sentence: string;
}

/** A key that shapes parts of the memory. */
export interface CausingKey {
  readonly field: FieldPath;
  /** As the file spells it, `zero_optimization.stage`. */
  readonly key: string;
  readonly uri: string;
  /** Of its value. */
  readonly range: Range;
  /** Parts that it shapes, the order is that of `CATEGORIES`. */
  readonly categories: readonly Category[];
  /** Of these, those that it is looked at for: its place among the keys of that part, 0 first. */
  readonly places: Readonly<Partial<Record<Category, number>>>;
}

/** What a person can turn: a field, or several that only make sense together, such as a type and who lowers it. */
export type Knob = NumberKnob | ChoiceKnob;
export const KNOBS = [
  'micro-batch',
  'accumulation',
  'sequence',
  'checkpointing',
  'optimizer',
  'method',
  'rank',
  'precision',
  'sharding',
  'offload',
  'allocator',
  'tensor',
  'pipeline',
  'gpus',
  'gpu',
] as const;
export type KnobId = (typeof KNOBS)[number];
export interface NumberKnob {
  readonly id: KnobId;
  readonly kind: 'number';
  readonly value: number;
  /** Values to slide over, ascending, the present one among them. Others are accepted from 1. */
  readonly steps: readonly number[];
  /** Only while that knob stands at one of these. */
  readonly needs?: { readonly knob: KnobId; readonly values: readonly string[] };
}
export interface ChoiceKnob {
  readonly id: KnobId;
  readonly kind: 'choice';
  readonly value: string;
  /** Those of one `group` follow each other. */
  readonly options: readonly { readonly id: string; readonly label: string; readonly group?: string }[];
}
/** Where knobs are turned to: a number, or the `id` of an option. */
export type Turned = Readonly<Partial<Record<KnobId, number | string>>>;

/**
 * Request, client to server: `TryParams` -> `Tried | null` (null: there is no estimate to start from). The run of a file
 * with some knobs turned; nothing is written. A few milliseconds; a person who drags a slider cancels all but the latest.
 */
export const TRY_REQUEST = 'oomlint/try';
export interface TryParams {
  readonly uri: string;
  readonly turned: Turned;
  /** Values of a fix that is tried, below the knobs. */
  readonly values?: RunValues;
}
export interface Tried {
  readonly version?: number;
  readonly turned: Turned;
  /** What the knobs stand for; what `APPLY_REQUEST` takes. */
  readonly values: RunValues;
  /** Absent where the values make no run; then `problem` names why. */
  readonly breakdown?: Breakdown;
  readonly problem?: string;
}

/** GPUs that hold the same: a stage of the pipeline. Bytes are per GPU. */
export interface RankFigures {
  /** First and last global rank. */
  readonly first: number;
  readonly last: number;
  readonly processBytes: number;
  readonly label: string;
  readonly parts: readonly Part[];
}

/** Request, client to server: `CompareParams` -> `Comparison | null` (null: one of the two has no estimate). */
export const COMPARE_REQUEST = 'oomlint/compare';
export interface CompareParams {
  readonly uri: string;
  /**
   * The other config: a file, or another text of the same file, such as its version in git. `releases`: the file as it is, under the newest
   * releases of the packages that count; it comes after, the others before.
   */
  readonly other: { readonly uri: string } | { readonly text: string } | { readonly releases: 'newest' };
}
export interface Comparison {
  /** The other config, the starting point; the file itself where it is held to other releases. */
  readonly before: Breakdown;
  /** The file that was asked about, or that under other releases. */
  readonly after: Breakdown;
  /** What differs, in an order in which one is changed after the other; their costs add up to the whole difference. */
  readonly differences: readonly Difference[];
}
export interface Difference {
  /** Fields that change together; the model counts as one. */
  readonly fields: readonly FieldPath[];
  readonly before: string;
  readonly after: string;
  /** Bytes per GPU that the peak gains by it, on top of the ones before. */
  readonly bytes: number;
  /** Seconds per step, where the time is known. */
  readonly seconds?: number;
  /** `1.22× faster per token`, for people: where a step holds another number of tokens. */
  readonly speed?: string;
}

/** Request, client to server: `ChangeCostParams` -> `ChangeCost | null` (null: no estimate, or no change for the run). */
export const CHANGE_COST_REQUEST = 'oomlint/changeCost';
export interface ChangeCostParams {
  readonly uri: string;
  /** An earlier text of the file, such as its version in git. */
  readonly before: string;
  /** A later one; without it the file as it is. */
  readonly after?: string;
}
export interface ChangeCost {
  /** Bytes per GPU that the peak gains. */
  readonly bytes: number;
  /** Seconds per step, where the time is known. */
  readonly seconds?: number;
  /** Of the run after the change. */
  readonly verdict: Verdict;
  /** What weighs most of all changes together, `+27.8 GiB`: a line of its own has room for no more. */
  readonly short: string;
  /** All changes together, for people. */
  readonly words: string;
  readonly at: readonly CostAtKey[];
}
/** The cost of one change, at the key that states the value. */
export interface CostAtKey {
  /** In the later text, or in the earlier one where the key is `removed`. */
  readonly range: Range;
  readonly removed: boolean;
  readonly bytes: number;
  readonly label: string;
  /** More, for whoever asks: one sentence each. */
  readonly lines: readonly string[];
}

/** Command of the editor's side: opens the breakdown panel. */
export const ESTIMATE_COMMAND = 'oomlint.estimateMemory';
/** Only argument of `ESTIMATE_COMMAND` where the server names it. */
export interface EstimateArguments {
  readonly uri: string;
  /** A key of the file: the panel shows what it shapes. */
  readonly position?: Position;
  /** The cell that the position is of, where the file is a notebook. */
  readonly cell?: string;
}

/** `data` of the lens that has a run's verdict, for the editor's side: how the run comes out, and how Problems have that. */
export interface JudgedLens {
  readonly verdict: Verdict;
  readonly severity?: Severity;
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
  /** Language of the editor's own texts, `ru`; an editor of another kind states it as `locale` in `initialize`. */
  readonly language?: string;
}
