import type { Workspace } from '../workspace/analyze';
import type { RunOptions } from '../workspace/command-line-facts';
import type { Target } from './check-file';
import type { Output } from './output';

export { EXIT } from './exit-codes';

/** Options as they come from the command line. */
export interface CommonOptions extends RunOptions {
  readonly format: 'table' | 'json';
  readonly detect?: boolean;
  /** What changes while the command works counts. */
  readonly watch?: boolean;
  /** The text of one file comes from standard input. */
  readonly stdin?: boolean;
  /** Where that file would lie: what it names, and what names it, is found from there. */
  readonly stdinFilename?: string;
}

/** What the commands work with. */
export interface CliContext {
  readonly workspace: Workspace;
  /** Workspaces that take a run to each of the GPUs that are named; the only one otherwise is `workspace`. */
  readonly targets: readonly Target[];
  readonly output: Output;
  /** Folder that paths are relative to. */
  readonly folder: string;
  readonly options: CommonOptions;
}
