import type { Problem, ProblemCode } from '../text/problem';
import type { Analysis } from '../workspace/analysis';

/** Verdicts are what a change is about: figures report them, and are no new problem. */
const VERDICTS: readonly ProblemCode[] = ['does-not-fit', 'tight', 'host-memory'];

/** Errors and warnings that edits brought along: more of a kind than there were, with words that were not there. */
export function freshProblems(before: Analysis, after: Analysis): Problem[] {
  const known = new Set(before.problems.map(({ code, message }) => `${code} ${message}`));
  const counted = (problems: readonly Problem[], code: ProblemCode) =>
    problems.filter((found) => found.code === code).length;
  return after.problems.filter(
    ({ code, severity, message }) =>
      (severity === 'error' || severity === 'warning') &&
      !VERDICTS.includes(code) &&
      !known.has(`${code} ${message}`) &&
      (severity === 'error' || counted(after.problems, code) > counted(before.problems, code)),
  );
}
