import { withEdits } from '../advice/write/text-edits';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action } from './action';
import { textAt } from './ranges';
import { isBetter, type ProblemCounts, problemCounts } from './remedy-actions';

/**
 * Ways to put right a setting of PyTorch's allocator, one of several in a text: a value as PyTorch spells it where one is meant, and the
 * settings without it. Offered where the setting stands as it is read and the problem goes.
 */
export function allocatorActions(
  analysis: Analysis,
  problem: Problem,
  text: string,
  counted: () => ProblemCounts | undefined,
): Action[] {
  const { setting, mended } = problem.data ?? {};
  if (problem.code !== 'allocator-settings' || typeof setting !== 'string') return [];
  const written = textAt(text, problem.range);
  const respelled =
    typeof mended === 'string'
      ? [{ title: say('Change to "{0}"', mended), newText: written.replace(setting, () => mended) }]
      : [];
  const without = { title: say('Remove {0}', setting), newText: leftWithout(written, setting) };
  return [...respelled, without]
    .filter(({ newText }) => {
      if (newText === written) return false;
      const after = withEdits(text, [{ range: problem.range, newText }]);
      return isBetter(counted(), problemCounts(analysis, after), problem.code);
    })
    .map(({ title, newText }) => ({
      title,
      problem,
      preferred: respelled.some((one) => one.title === title),
      edits: [{ uri: analysis.uri, range: problem.range, newText }],
    }));
}

/** Settings without one of them and the comma that parts it from its neighbour. */
function leftWithout(written: string, setting: string): string {
  const at = written.indexOf(setting);
  if (at < 0) return written;
  const before = written.slice(0, at);
  const after = written.slice(at + setting.length);
  const isFirst = !/,\s*$/.test(before);
  return isFirst ? before + after.replace(/^\s*,\s*/, '') : before.replace(/\s*,\s*$/, '') + after;
}
