import { type Fix, fixesFor } from '../advice/fixes';
import type { World } from '../advice/world';
import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import { canonicalUri, isInside, pathOfUri } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action } from './action';
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
  // One key takes what is preferred: a note alone would make the problem go and the training fail.
  const first = fixes.find(({ byHand }) => byHand.length === 0);
  return fixes.map((fix) => actionOf(fix, problem, fix === first, analysis.uri, world.folders));
}

const isSame = (a: string, b: string) => canonicalUri(a) === canonicalUri(b);

/**
 * Whoever takes a fix of another file, or of several, reads so in its title, and can have the editor show it first. Edits that ask to be
 * confirmed would each have to be ticked, and half of a fix is none.
 */
function actionOf(
  { title, files, byHand }: Fix,
  problem: Problem,
  preferred: boolean,
  uri: string,
  folders: readonly string[],
): Action {
  const [only] = files;
  // A note changes no training: what does stands in the title.
  if (byHand.length > 0) {
    const note = files.find((file) => file.note);
    const name = note ? pathOfUri(note.uri).replace(/^.*\//, '') : '';
    const label = say('{0}. By hand: {1} This notes it in {2}', title, byHand.join(' '), name);
    return { title: label.replaceAll('`', ''), problem, preferred, edits: fileEdits(files) };
  }
  const elsewhere = files.length === 1 && only && !isSame(only.uri, uri);
  const made = files.find(({ create, note }) => create && !note);
  if (made) {
    const label = say('{0}, with a new file {1}', title, pathOfUri(made.uri).replace(/^.*\//, ''));
    return { title: label, problem, preferred, edits: fileEdits(files) };
  }
  // A file that no open folder holds is not changed unless its name is read before.
  const outside =
    folders.length > 0 ? files.filter((file) => !isInside(file.uri, folders) && !isSame(file.uri, uri)) : [];
  const label = elsewhere
    ? say('{0}, in {1}', title, pathOfUri(only.uri))
    : outside.length > 0
      ? say(
          '{0}, in {1} files, also in {2}',
          title,
          files.length,
          outside.map((file) => pathOfUri(file.uri)).join(', '),
        )
      : files.length > 1
        ? say('{0}, in {1} files', title, files.length)
        : title;
  return { title: label, problem, preferred, edits: fileEdits(files) };
}
