import type { Problem } from '../text/problem';
import type { CheckedFile } from './checked-file';

/** Something that is told of several files in the same words. */
export interface SaidOften {
  /** As the first of the files has it. */
  readonly problem: Problem;
  /** Paths of the files, in order, each once. */
  readonly paths: readonly string[];
}

/** From so many files on it is told once for all of them. */
const OFTEN = 3;

const quiet = ({ severity }: Problem) => severity === 'information' || severity === 'hint';
const wordsOf = ({ code, severity, message }: Problem) => [severity, code, message].join('\0');

/**
 * Takes what is mere information out of files where others say it in the same words: one line a tree, not one a file. Errors and
 * warnings stay where they stand.
 */
export function saidOften(files: readonly CheckedFile[]): {
  readonly files: readonly CheckedFile[];
  readonly often: readonly SaidOften[];
} {
  const said = new Map<string, { problem: Problem; paths: Set<string> }>();
  for (const { path, problems } of files)
    for (const problem of problems.filter(quiet)) {
      const words = wordsOf(problem);
      const before = said.get(words);
      if (before) before.paths.add(path);
      else said.set(words, { problem, paths: new Set([path]) });
    }
  const isOften = (problem: Problem) =>
    quiet(problem) && (said.get(wordsOf(problem))?.paths.size ?? 0) >= OFTEN;
  return {
    files: files.map((file) => ({ ...file, problems: file.problems.filter((each) => !isOften(each)) })),
    often: [...said.values()]
      .filter(({ paths }) => paths.size >= OFTEN)
      .map(({ problem, paths }) => ({ problem, paths: [...paths] }))
      .sort((a, b) => b.paths.length - a.paths.length),
  };
}
