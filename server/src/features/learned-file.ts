import type { Estimated } from '../advice/changed-run';
import { parentUri, relativePath } from '../text/uri';
import { say } from '../wording/say';
import type { ProjectPlace } from '../workspace/project-place';
import { type LearnedFact, learnedEntries } from './learned-facts';
import { withMeasured } from './measured-entries';

/** The project file with what was learned, or why there is none. */
type LearnedFile =
  | { readonly uri: string; readonly before?: string; readonly after: string; readonly match: string }
  | { readonly problem: string };

/** Puts facts of the run at `place` (a URI) into the project file of its config. */
export function learnedFile(
  facts: readonly LearnedFact[],
  place: string,
  analysis: Estimated,
  project: ProjectPlace | undefined,
): LearnedFile {
  const home = project && parentUri(project.uri);
  const beneath = home === undefined ? undefined : relativePath(home, analysis.uri);
  if (!project || home === undefined || beneath === undefined)
    return { problem: say('There is no place for an oomlint.yaml beside {0}.', analysis.uri) };
  const source = relativePath(home, place) ?? decodeURIComponent(place.split('/').pop() ?? place);
  // A pattern without a slash is of files at any depth.
  const match = beneath.includes('/') ? beneath : `/${beneath}`;
  const entries = learnedEntries(facts, analysis);
  const after = withMeasured(project.uri, project.text ?? '', { source, match, entries });
  if (after === undefined)
    return {
      problem: say(
        '{0}: its `measured` is no list with a line for each entry; nothing was written.',
        relativePath(home, project.uri) ?? project.uri,
      ),
    };
  const { uri, text: before } = project;
  return { uri, after, match: beneath, ...(before === undefined ? {} : { before }) };
}
