import { type Fix, fixesFor } from '../advice/fixes';
import type { World } from '../advice/world';
import type { Problem } from '../config/node';
import type { Range } from '../run/origin';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action } from './code-actions';
import { fileEdits } from './file-edits';
import { overlaps } from './ranges';

/** That a run does not fit, or hardly. */
export function verdictOf(analysis: Analysis): Problem | undefined {
  return analysis.problems.find(({ code }) => code === 'does-not-fit' || code === 'tight');
}

/** Fixes of the verdict where it is shown, each known to fit, least change first. */
export async function fixActions(analysis: Analysis, range: Range, world: World): Promise<Action[]> {
  const problem = verdictOf(analysis);
  if (!problem || !overlaps(problem.range, range)) return [];
  const fixes = await fixesFor(analysis, world);
  return fixes.map((fix, index) => actionOf(fix, problem, index === 0));
}

/**
 * Whoever takes a fix of several files reads so in its title, and can have the editor show it first. Edits that ask to be
 * confirmed would each have to be ticked, and half of a fix is none.
 */
function actionOf({ title, files }: Fix, problem: Problem, preferred: boolean): Action {
  const said = files.length > 1 ? say('{0}, in {1} files', title, files.length) : title;
  return { title: said, problem, preferred, edits: fileEdits(files) };
}
