import { isVocabularyFile } from '../dialects/registry';
import type { Problem } from '../text/problem';
import { canonicalUri, fileName, parentUri, resolvePath } from '../text/uri';
import { say } from '../wording/say';
import type { TaughtDialect, TrackedFiles } from './file-cache';
import { foldersAround } from './folders-around';
import type { ProjectFile } from './project-file';
import { PROJECT_FILE_NAMES } from './project-file-names';

/** Whether a file is a vocabulary by its name alone. */
export const isVocabulary = (uri: string): boolean => isVocabularyFile(fileName(uri));

/** By the list of a folder's names, which is one object for all files of the folder while it is remembered. */
const vocabularies = new WeakMap<readonly string[], readonly string[]>();

function vocabulariesAmong(names: readonly string[]): readonly string[] {
  const known = vocabularies.get(names);
  if (known) return known;
  const found = names.filter(isVocabularyFile);
  vocabularies.set(names, found);
  return found;
}

/**
 * Vocabularies that hold for a file, nearest first: files of that name in its folder and above, up to the workspace folder,
 * and what the project files there name. Unreadable ones are left out.
 */
export async function taughtFor(uri: string, files: TrackedFiles): Promise<TaughtDialect[]> {
  const found = new Set<string>();
  for (const folder of foldersAround(uri, files)) {
    const base = folder.replace(/\/$/, '');
    const names = (await files.list(folder)) ?? [];
    for (const name of vocabulariesAmong(names))
      found.add(canonicalUri(`${base}/${encodeURIComponent(name)}`));
    for (const name of PROJECT_FILE_NAMES.filter((candidate) => names.includes(candidate))) {
      const project = await files.project(`${base}/${name}`);
      for (const named of project ? urisOf(project, files) : [])
        if (named.uri !== undefined) found.add(named.uri);
    }
  }
  const taught = await Promise.all([...found].map((file) => files.taught(file)));
  return taught.filter((reading) => reading !== undefined);
}

function urisOf(project: ProjectFile, files: TrackedFiles) {
  const folder = parentUri(project.uri) ?? project.uri;
  return project.vocabularies.map((named) => {
    const uri = resolvePath(folder, named.path, files.home);
    return { ...named, uri: uri === undefined ? undefined : canonicalUri(uri) };
  });
}

/** Vocabularies that a project file names and that are not there. */
export async function missingVocabularies(project: ProjectFile, files: TrackedFiles): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { path, range, uri } of urisOf(project, files)) {
    if (uri !== undefined && (await files.exists(uri))) continue;
    const message = say('There is no file "{0}" beside this project file.', path);
    problems.push({ code: 'missing-file', severity: 'error', message, range });
  }
  return problems;
}
