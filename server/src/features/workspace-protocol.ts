/**
 * What client and server say to each other about the files of a workspace: which of several runs a file is shown in, which
 * family a document belongs to, and the files of places that the server cannot read by itself. Plain data and names.
 */
import type { Verdict } from '../results/estimate';
import type { Severity } from '../text/problem';
import type { RunOption } from '../workspace/analysis';

/** Command of the editor's side: asks which of its runs a file is shown in. */
export const CHOOSE_RUN_COMMAND = 'oomlint.chooseRun';
/** Only argument of `CHOOSE_RUN_COMMAND`. */
export interface ChooseRunArguments {
  readonly uri: string;
}

/** Notification, client to server: the run that a file is shown in from now on; without a root the worst. */
export const CHOSEN_RUN_NOTIFICATION = 'oomlint/chosenRun';
export interface ChosenRunParams {
  readonly uri: string;
  readonly root?: string;
}

/** Request, client to server: `RunsParams` -> `Runs | null` (null: not a training config). */
export const RUNS_REQUEST = 'oomlint/runs';
export interface RunsParams {
  readonly uri: string;
}
/** Runs that a file is part of, worst first; empty where no other file names it. */
export interface Runs {
  readonly runs: readonly RunOption[];
  /** Root of the run that is shown. */
  readonly shown?: string;
}

/** Shows the view of the configs: the editor makes it of the view's name. */
export const CONFIGS_VIEW_COMMAND = 'oomlint.configs.focus';

/** Request, client to server: `ConfigsParams` -> `KnownConfigs`. Looks through the folders on disk, and gives way to everything else. */
export const CONFIGS_REQUEST = 'oomlint/configs';
export interface ConfigsParams {
  /** The folders were looked through before: only what is known to have changed since is looked at. */
  readonly again?: boolean;
}
export interface KnownConfigs {
  readonly configs: readonly KnownConfig[];
  /** Configs beyond those that are listed. */
  readonly more: number;
}
/** A training config of the workspace that no other one starts; what cannot be estimated has no peak. */
export interface KnownConfig {
  readonly uri: string;
  /** Path within its workspace folder. */
  readonly name: string;
  readonly family: string;
  /** Its model and its card, by the names that the catalogs have where they know them. */
  readonly model?: string;
  readonly gpu?: string;
  readonly verdict: Verdict;
  /** How Problems have the verdict, where they have it. */
  readonly severity?: Severity;
  readonly peakBytes?: number;
  readonly capacityBytes?: number;
  /** Labels of what nobody states, for people. */
  readonly missing: readonly string[];
  /** Other files of its run, as addresses. */
  readonly files: readonly string[];
}

/** Notification, server to client: the family that an open document belongs to, when it becomes known or changes. */
export const FAMILY_NOTIFICATION = 'oomlint/family';
export interface FamilyParams {
  readonly uri: string;
  /** `id` of the dialect, which is the name of its schema; absent where the document is no training config, or of a family without one. */
  readonly family?: string;
}

/** Notification, client to server: whether another extension completes YAML documents from our schemas. */
export const SCHEMAS_NOTIFICATION = 'oomlint/schemasServed';
export interface SchemasParams {
  readonly served: boolean;
}

/** Request, client to server: documentation in the language of the person. `TextsParams` -> texts, in their order. */
export const TEXTS_REQUEST = 'oomlint/texts';
export interface TextsParams {
  readonly texts: readonly string[];
}

/**
 * Request, client to server: the JSON schema by which another extension completes and explains YAML documents. `SchemaParams` -> schema;
 * null where there is none of that name.
 */
export const SCHEMA_REQUEST = 'oomlint/schema';
export interface SchemaParams {
  /** `id` of a family, `vocabulary` or `project-file`. */
  readonly name: string;
}

/**
 * Request, server to client, for files and folders of other schemes than `file:`, many at once: `FilesParams` ->
 * `FilesAnswer`. The client states by `readsFiles` that it answers.
 */
export const FILES_REQUEST = 'oomlint/files';
/** Addresses. */
export interface FilesParams {
  readonly texts: readonly string[];
  readonly folders: readonly string[];
}
/** Names of what lies in a folder, in order. */
export interface FolderNames {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}
/** In the order of the questions; null where there is no such file or folder. */
export interface FilesAnswer {
  readonly texts: readonly (string | null)[];
  readonly folders: readonly (FolderNames | null)[];
}

/** Request, server to client: one of the files of the Python parser, from a server that has no disk. `GrammarParams` -> bytes. */
export const GRAMMAR_REQUEST = 'oomlint/grammar';
export interface GrammarParams {
  /** Name of the file, without a folder. */
  readonly name: string;
}

/** Members of `initializationOptions` beside those of `InitializationOptions`. */
export interface WorkspaceOptionsOfClient {
  /** Root of the chosen run by file. */
  readonly chosenRuns?: Readonly<Record<string, string>>;
  /** The client answers `FILES_REQUEST`. */
  readonly readsFiles?: boolean;
  /** Another extension completes YAML documents from our schemas. */
  readonly schemasServed?: boolean;
}
