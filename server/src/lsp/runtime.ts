import type { ApplyPlan } from '../advice/apply-plan';
import type { Fix } from '../advice/fixes';
import type { World } from '../advice/world';
import type { Desk } from '../agents/desk';
import type { ToolAnswer, ToolParams } from '../features/agent-protocol';
import type { BatchLens } from '../features/batch-lens';
import type { Completion } from '../features/completion/completion';
import type { HoverText } from '../features/hover-text';
import type { WhatIfTexts } from '../features/hover-what-if';
import type { ExplainedOom, OomParams } from '../features/oom-protocol';
import type { Breakdown, Comparison, Opened, Tried, Turned } from '../features/protocol';
import type { KnownConfigs } from '../features/workspace-protocol';
import type { DetectedGpus } from '../hardware/detect';
import type { FieldPath, RunValues } from '../run/fields';
import type { Position } from '../text/place';
import type { Problem } from '../text/problem';
import type { Analysis } from '../workspace/analysis';
import type { Host } from '../workspace/host';
import type { ListedFile } from '../workspace/listed-file';
import type { MeasuredRuns } from './measured-runs';
import type { EditorHost } from './open-files';

/** What a machine of one's own has, and a browser does not. */
export interface LocalMachine {
  /** GPUs as the driver names them. Starts a program: only in a trusted workspace. */
  detectGpus(): Promise<DetectedGpus | undefined>;
  /** Files below a folder of the disk that may be configs, without what git ignores. */
  configsBelow(folder: string): Promise<readonly string[]>;
  /** What a file of the disk is now, cheaply; undefined where there is none. */
  look(uri: string): Promise<ListedFile | undefined>;
  /** Reader of what runs left behind. */
  measuredRuns(): Promise<MeasuredRuns>;
}

/** The platform below the server: one for Node, one for browsers, one for tests. */
export interface Runtime {
  readonly version: string;
  /** Absent in a browser. */
  readonly machine?: LocalMachine;
  /** Files on disk, the environment and the home folder; open documents are laid over it. */
  readonly disk: Host;
  /** Loads the engine on first use: the start of the server does not wait for it. */
  createEngine(
    host: EditorHost,
    preferences: Preferences,
    machine: LocalMachine | undefined,
  ): Promise<Engine>;
}

/** What the editor's settings contribute. */
export interface Preferences {
  values(uri: string): Promise<RunValues>;
  /** True where asking this machine's driver for its GPUs is wanted and allowed. */
  mayDetect(uri: string): Promise<boolean>;
  /** Whether the editor shows a file. */
  isOpen(uri: string): boolean;
  /** Root of the run that the user wants a file to be shown in. */
  chosenRun(uri: string): string | undefined;
}

/** The engine as far as the server knows it. */
export interface Engine extends World {
  /** What an editor draws of an analysis. */
  readonly drawing: typeof import('./drawing');
  /** Whether a text is worth an analysis, the workspace's own flags among what it may hold: false is certain. */
  isCandidate(uri: string, text: string): Promise<boolean>;
  /** Whether a change of the file may turn other files into configs, or make them none. */
  teaches(uri: string): boolean;
  analyze(uri: string): Promise<Analysis | undefined>;
  /** Problems of an `oomlint.yaml`; undefined where the file is none. */
  checkProjectFile(uri: string): Promise<readonly Problem[] | undefined>;
  /** The text of a file, or its existence, changed. */
  invalidate(uri: string): void;
  /** The text of an open document changed, and nothing else. */
  edited(uri: string): void;
  /** Settings or workspace folders changed. */
  invalidateAll(): void;
  /** Analysed files whose result depends on this one, itself not among them. */
  dependents(uri: string): readonly string[];
  /** Keys and values that fit at a place of a text; `schemasServed`: another extension offers what our schema has. */
  completions(
    uri: string,
    text: string,
    position: Position,
    schemasServed: boolean,
  ): Promise<readonly Completion[]>;
  /** The JSON schema of that name, for an extension that completes YAML by it; null where there is none. */
  schema(name: string): unknown;
  /** What a key of an `oomlint.yaml` means, and which configs read it; undefined for other files and places. */
  projectHover(uri: string, text: string, position: Position): Promise<HoverText | undefined>;
  /** How many of the analysed configs read an `oomlint.yaml`; undefined where none does. */
  projectLens(uri: string): Promise<{ readonly title: string; readonly tooltip: string } | undefined>;
  /** Neighbouring values of the fields that a key sets, as Markdown. A few estimates, remembered. */
  whatIf(analysis: Analysis, fields: readonly FieldPath[]): WhatIfTexts | undefined;
  /** What the run hangs on and nobody states, as Markdown. Some twenty estimates, remembered. */
  decisions(analysis: Analysis): string | undefined;
  /** The largest micro batch that fits, for people. Up to two dozen estimates, remembered. */
  batchLens(analysis: Analysis): BatchLens | undefined;
  /** The same as far as it is ready at once; undefined where more is to be estimated, and the next call goes on from there. */
  promptBatchLens(analysis: Analysis): BatchLens | undefined;
  breakdown(analysis: Analysis, version?: number): Breakdown;
  /** The figures of a breakdown, opened; null where there is no estimate. Some tens of milliseconds. */
  opened(
    analysis: Analysis,
    sample?: number,
    version?: number,
    turned?: Turned,
    values?: RunValues,
  ): Opened | null;
  /** The run with some knobs turned; null where there is no estimate. */
  tried(analysis: Analysis, turned: Turned, version?: number, values?: RunValues): Tried | null;
  /** Edits after which the run has these values, proved. */
  planned(analysis: Analysis, values: RunValues): Promise<ApplyPlan>;
  /** Fixes of a run that does not fit, proved; remembered. */
  fixes(analysis: Analysis): Promise<readonly Fix[]>;
  /** The analysis of a file as if it had another text; everything around it stays. */
  analyzeAs(uri: string, text: string): Promise<Analysis | undefined>;
  /** The analysis of a file under the newest releases of the packages that count. */
  analyzeUpgraded(uri: string): Promise<Analysis | undefined>;
  compared(before: Analysis, after: Analysis): Comparison | null;
  /** Training configs in the folders of the editor; ends early where `isCancelled`. With `again` the folders are looked through only where needed. */
  configs(isCancelled: () => boolean, again?: boolean): Promise<KnownConfigs>;
  /** Out-of-memory messages of a text, held to the run that left it. */
  explainedOom(params: OomParams): Promise<ExplainedOom>;
  /** Tools of agents; `write` has the editor carry out a change, false where it refuses. */
  tools(write: Desk['write']): (params: ToolParams) => Promise<ToolAnswer>;
}
