import { foldersUpward } from '../text/uri';
import type { TrackedFiles } from './file-cache';
import type { ProjectFile } from './project-file';
import { PROJECT_FILE_NAMES } from './project-file-names';

/** The `oomlint.yaml` beside a file or above it, the nearest. */
export async function nearestProject(uri: string, files: TrackedFiles): Promise<ProjectFile | undefined> {
  const upward = foldersUpward(uri);
  // A document without a place is meant for the workspace that it is written in.
  for (const folder of upward.length > 0 ? upward : files.folders.slice(0, 1)) {
    for (const name of PROJECT_FILE_NAMES) {
      const candidate = `${folder.replace(/\/$/, '')}/${name}`;
      const project = (await files.exists(candidate)) ? await files.project(candidate) : undefined;
      if (project) {
        return project;
      }
    }
  }
  return undefined;
}
