import { type Fix, fixesFor } from '../advice/fixes';
import type { World } from '../advice/world';
import { joinWords } from '../results/labels';
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
  // A note changes no training: what does stands in the title.
  if (byHand.length > 0) {
    const note = files.find((file) => file.note);
    const name = note ? nameOf(note.uri) : '';
    const label = say('{0}. By hand: {1} This notes it in {2}', title, byHand.join(' '), name);
    return { title: label.replaceAll('`', ''), problem, preferred, edits: fileEdits(files) };
  }
  const made = files.find(({ create, note }) => create && !note);
  const others = files.filter((file) => file !== made);
  const isOwn = others.every((file) => isSame(file.uri, uri));
  const whole = made ? say('{0}, with a new file {1}', title, nameOf(made.uri)) : title;
  const label = isOwn ? whole : withNames(whole, others, uri, folders);
  return { title: label, problem, preferred, edits: fileEdits(files) };
}

const nameOf = (uri: string) => pathOfUri(uri).replace(/^.*\//, '');

/** So many files are named in a title: more are counted. */
const MOST_NAMED = 3;

/**
 * A title with the names of files: one that no open folder holds by its path, and so one that another has the name of. What is not changed unless its name is
 * read before is not left out of the title either, however many there are.
 */
function withNames(title: string, files: Fix['files'], uri: string, folders: readonly string[]): string {
  const isOutside = (file: string) => folders.length > 0 && !isInside(file, folders) && !isSame(file, uri);
  const isAmbiguous = (file: string) =>
    files.filter((other) => nameOf(other.uri) === nameOf(file)).length > 1;
  const named = files.length <= MOST_NAMED ? files : files.filter((file) => isOutside(file.uri));
  const names = named.map((file) =>
    isOutside(file.uri) || isAmbiguous(file.uri) || files.length === 1
      ? pathOfUri(file.uri)
      : nameOf(file.uri),
  );
  if (named.length === files.length) return say('{0}, in {1}', title, joinWords(names));
  return names.length === 0
    ? say('{0}, in {1} files', title, files.length)
    : say('{0}, in {1} files, also in {2}', title, files.length, names.join(', '));
}
