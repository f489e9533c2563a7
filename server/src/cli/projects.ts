import { statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isInside } from '../text/uri';
import { DiskHost } from '../workspace/disk-host';
import { repositoryAround } from '../workspace/repository-root';

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
export async function projectsOf(started: string, named: readonly string[]): Promise<Projects> {
  const disk = new DiskHost([]);
  const own = [
    ...new Set([(await repositoryAround(asUri(started), disk)) ?? asUri(started), asUri(started)]),
  ];
  const apart = new Set<string>();
  for (const place of named.map((given) => path.resolve(started, given))) {
    const folder = statSync(place, { throwIfNoEntry: false })?.isDirectory() ? place : path.dirname(place);
    const around = await repositoryAround(asUri(folder), disk);
    const project = around ?? (folder === place ? asUri(place) : undefined);
    if (project !== undefined && !isInside(asUri(folder), own)) apart.add(project);
  }
  return { folders: [...own, ...apart], apart: [...apart] };
}

const asUri = (folder: string) => pathToFileURL(folder + path.sep).href;
