import type { Severity } from '../text/problem';
import type { Analysis } from './analysis';

/** Problems about the memory of the run as a whole. */
const VERDICTS: readonly string[] = ['does-not-fit', 'tight', 'host-memory'];
const WORST_FIRST: readonly Severity[] = ['error', 'warning', 'information', 'hint'];

/**
 * How Problems have the verdict of a run, the severest of them; undefined where they have none. Problems are looked for where there is one
 * at all: most runs that are typed in fit.
 */
export function verdictSeverity(analysis: Analysis): Severity | undefined {
  const { estimate } = analysis;
  if (!estimate || (estimate.verdict === 'fits' && estimate.host.verdict !== 'exceeds')) return undefined;
  const found = analysis.problems.filter(({ code }) => VERDICTS.includes(code));
  return WORST_FIRST.find((severity) => found.some((problem) => problem.severity === severity));
}
