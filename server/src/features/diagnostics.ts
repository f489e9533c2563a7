import type { Problem } from '../text/problem';
import type { Analysis } from '../workspace/analysis';
import { before } from './ranges';

/** Editors draw every one of them; a generated file with an error on each line must not freeze the editor. */
const MOST = 500;

/** The problems of a file as an editor lists them: in file order, each once, ranges the right way round. */
export function diagnostics(analysis: Analysis): readonly Problem[] {
  const seen = new Set<string>();
  const kept: Problem[] = [];
  for (const problem of analysis.problems) {
    const { start, end } = problem.range;
    const identity = `${problem.code} ${start.line}:${start.character} ${problem.message}`;
    if (seen.has(identity)) {
      continue;
    }
    seen.add(identity);
    kept.push(before(end, start) ? { ...problem, range: { start, end: start } } : problem);
  }
  kept.sort((a, b) =>
    before(a.range.start, b.range.start) ? -1 : before(b.range.start, a.range.start) ? 1 : 0,
  );
  return kept.slice(0, MOST);
}
