import type { Problem } from '../text/problem';
import { canonicalUri } from '../text/uri';
import { OF_THE_RUN } from '../workspace/doubt';
import type { CheckedFile } from './checked-file';

interface Found {
  readonly file: CheckedFile;
  readonly problem: Problem;
}

const judges = ({ code, severity }: Problem) =>
  OF_THE_RUN.has(code) && (severity === 'error' || severity === 'warning');
const wordsOf = ({ code, severity, message }: Problem) => [severity, code, message].join('\0');
const hasPart = ({ files }: CheckedFile, { uri }: CheckedFile) =>
  files.some((part) => canonicalUri(part) === canonicalUri(uri));
const areOfOneRun = (a: CheckedFile, b: CheckedFile) => hasPart(a, b) || hasPart(b, a);

/**
 * What is wrong with a run as a whole is found in each of its files, in the same words: it stays in the one that states what weighs most,
 * which names the fewest other places, and goes from the others. A file that is checked alone keeps it.
 */
export function oncePerRun(files: readonly CheckedFile[]): readonly CheckedFile[] {
  const byWords = new Map<string, Found[]>();
  for (const file of files)
    for (const problem of file.problems.filter(judges)) {
      const words = wordsOf(problem);
      const same = byWords.get(words);
      if (same) same.push({ file, problem });
      else byWords.set(words, [{ file, problem }]);
    }
  const repeated = new Set<Problem>();
  for (const found of byWords.values()) {
    const kept: Found[] = [];
    for (const each of [...found].sort((a, b) => placesOf(a) - placesOf(b)))
      if (kept.some(({ file }) => file !== each.file && areOfOneRun(file, each.file)))
        repeated.add(each.problem);
      else kept.push(each);
  }
  if (repeated.size === 0) return files;
  return files.map((file) => ({
    ...file,
    problems: file.problems.filter((problem) => !repeated.has(problem)),
  }));
}

const placesOf = ({ problem }: Found) => problem.related?.length ?? 0;
