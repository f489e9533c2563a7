import type { Problem } from '../text/problem';
import type { CheckedFile } from './checked-file';

/** Something that is reported of several files in the same words. */
export interface RepeatedInformation {
  /** As the first of the files has it. */
  readonly problem: Problem;
  /** Paths of the files, in order, each once. */
  readonly paths: readonly string[];
}

/** From so many files on it is reported once for all of them. */
const REPEATED = 3;

const quiet = ({ severity }: Problem) => severity === 'information' || severity === 'hint';
const wordsOf = ({ code, severity, message }: Problem) => [severity, code, message].join('\0');

/**
 * Takes what is mere information out of files where others say it in the same words: one line a tree, not one a file. Errors and
 * warnings stay where they stand.
 */
export function repeatedInformation(files: readonly CheckedFile[]): {
  readonly files: readonly CheckedFile[];
  readonly repeated: readonly RepeatedInformation[];
} {
  const byWords = new Map<string, { problem: Problem; paths: Set<string> }>();
  for (const { path, problems } of files)
    for (const problem of problems.filter(quiet)) {
      const words = wordsOf(problem);
      const before = byWords.get(words);
      if (before) before.paths.add(path);
      else byWords.set(words, { problem, paths: new Set([path]) });
    }
  const isRepeated = (problem: Problem) =>
    quiet(problem) && (byWords.get(wordsOf(problem))?.paths.size ?? 0) >= REPEATED;
  return {
    files: files.map((file) => ({ ...file, problems: file.problems.filter((each) => !isRepeated(each)) })),
    repeated: [...byWords.values()]
      .filter(({ paths }) => paths.size >= REPEATED)
      .map(({ problem, paths }) => ({ problem, paths: [...paths] }))
      .sort((a, b) => b.paths.length - a.paths.length),
  };
}
