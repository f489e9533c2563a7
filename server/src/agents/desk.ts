import type { WrittenFile } from '../advice/write/write';
import { pathOfUri, relativePath, resolvePath } from '../text/uri';
import type { Workspace } from '../workspace/analyze';
import type { RunOptions } from '../workspace/command-line-facts';
import { ToolError } from './tool-error';

/** What the tools work with: the disk for a server of their own, open documents inside an editor. */
export interface Desk {
  /** Folders that tools may name files in, as URIs. What lies elsewhere is refused. */
  readonly folders: readonly string[];
  /** The files as they are now, with statements that win over all that they say. Throws `UsageError` where one cannot be meant. */
  workspace(stated: RunOptions): Workspace;
  /** Looks at the files of a commit. Throws `UsageError` where there is none; absent where there is no version control. */
  atRevision?<T>(commit: string, stated: RunOptions, look: (workspace: Workspace) => Promise<T>): Promise<T>;
  /** Files below a folder that may be configs, as URIs. */
  candidates(folder: string): Promise<readonly string[]>;
  /** Whether a place lies in one of the folders, by its name and its links followed. */
  isInside(uri: string): Promise<boolean>;
  /** Carries out a change, all files or none; false where it was refused. */
  write(files: readonly WrittenFile[]): Promise<boolean>;
  /** Changes that were offered, by id. */
  readonly offered: Map<string, OfferedChange>;
}

/** A change of a run's files that was proven to fit when it was offered. */
export interface OfferedChange {
  /** The config that it was offered for. */
  readonly uri: string;
  /** What was stated of the run beside its files. */
  readonly stated: RunOptions;
  readonly title: string;
  readonly files: readonly WrittenFile[];
  /** What is left to be done by hand, as sentences. */
  readonly byHand: readonly string[];
}

/** The place that a path of a tool names; throws `ToolError` where it lies outside of the folders. */
export async function placeOf(path: string, desk: Desk): Promise<string> {
  for (const folder of desk.folders) {
    const uri = /^file:/i.test(path) ? path : resolvePath(folder, path);
    if (uri !== undefined && (await desk.isInside(uri))) return uri;
  }
  throw new ToolError(
    `${path} lies outside of the folder that this server was started for.`,
    'Name a path inside of it, as find_runs gives them.',
  );
}

/** The path of a file as the tools take it: inside its folder, else whole. */
export function nameOf(uri: string, { folders }: Desk): string {
  const inside = folders.flatMap((folder) => relativePath(folder, uri) ?? []);
  return inside.sort((a, b) => a.length - b.length)[0] ?? pathOfUri(uri);
}

/** Whether a change stays inside the folders. */
export async function isInsideFolders(files: readonly WrittenFile[], desk: Desk): Promise<boolean> {
  for (const { uri } of files) if (!(await desk.isInside(uri))) return false;
  return true;
}
