import type { Workspace } from '../workspace/analyze';
import type { RunOptions } from './facts';
import type { Output } from './output';

/** Exit codes: what a script can rely on. */
export const EXIT = { fine: 0, foundErrors: 1, couldNotRun: 2 } as const;

/** Options as they come from the command line. */
export interface CommonOptions extends RunOptions {
  readonly format: 'table' | 'json';
  readonly detect?: boolean;
  readonly quiet?: boolean;
}

/** What the commands work with. */
export interface CliContext {
  readonly workspace: Workspace;
  readonly output: Output;
  /** Folder that paths are relative to. */
  readonly folder: string;
  readonly options: CommonOptions;
}
