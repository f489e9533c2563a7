import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isInside } from '../text/uri';

/** Folders in which what a config names is looked for, as URIs. */
interface Projects {
  readonly folders: readonly string[];
  /** Of these, those that hold a project of their own. */
  readonly apart: readonly string[];
}

/**
 * The project that a command is started in, and those of the files and folders that it is given from elsewhere. A project
 * goes up to the root of its repository: what a script names is often meant from there. Without a repository a folder
 * that is named is one.
 */
export function projectsOf(started: string, named: readonly string[]): Projects {
  const own = [...new Set([repositoryAround(started) ?? started, started])].map(asUri);
  const apart = new Set<string>();
  for (const place of named.map((given) => path.resolve(started, given))) {
    const folder = statSync(place, { throwIfNoEntry: false })?.isDirectory() ? place : path.dirname(place);
    const project = repositoryAround(folder) ?? (folder === place ? place : undefined);
    if (project !== undefined && !isInside(asUri(folder), own)) apart.add(asUri(project));
  }
  return { folders: [...own, ...apart], apart: [...apart] };
}

const asUri = (folder: string) => pathToFileURL(folder + path.sep).href;

/** Root of the repository that a folder lies in; undefined outside of one. */
function repositoryAround(folder: string): string | undefined {
  for (let current = folder; ; current = path.dirname(current)) {
    if (existsSync(path.join(current, '.git'))) return current;
    if (path.dirname(current) === current) return undefined;
  }
}
