import * as z from 'zod/mini';
import { verdictAt } from '../../results/labels';
import { canonicalUri } from '../../text/uri';
import { formatBytes } from '../../wording/figures';
import { type Analysis, isPart } from '../../workspace/analysis';
import { type Desk, nameOf, placeOf } from '../desk';
import { questionsOf } from '../questions';
import { described, runOptionsOf, STATED } from '../stated';
import { toolOf } from '../tool';

/** Runs that are listed; a repository of examples has hundreds. */
const MOST_LISTED = 100;

const FOUND = z.object({
  file: z.string(),
  family: z.string(),
  verdict: z.enum(['fits', 'tight', 'exceeds', 'unknown']),
  peak_bytes: z.nullable(z.number()),
  missing: described(z.array(z.string()), 'Questions that have to be answered before there is a verdict.'),
  files: described(z.array(z.string()), 'Other files of the run; a change may have to be written there.'),
});

export const findRunsTool = toolOf({
  name: 'find_runs',
  title: 'Find training runs',
  description:
    'Lists the training configs below a folder (DeepSpeed, Accelerate, Axolotl, TRL, torchtune, launch scripts and others), with the verdict of each and what is missing for one. Files that belong to one run are told together. Begin here, and pass `file` to the other tools.',
  input: z.object({
    folder: z.optional(described(z.string(), 'Folder to look in; all of it where it is left out.')),
    ...STATED,
  }),
  output: z.object({
    runs: z.array(FOUND),
    more: described(z.number(), 'Runs beyond those that are listed: name a folder to see them.'),
  }),
  writes: false,
  async run({ folder, ...stated }, desk) {
    const workspace = desk.workspace(runOptionsOf(stated));
    const places = folder === undefined ? desk.folders : [await placeOf(folder, desk)];
    const runs: z.output<typeof FOUND>[] = [];
    const capacities: (number | undefined)[] = [];
    let more = 0;
    for (const place of places) {
      for (const uri of await desk.candidates(place)) {
        if (!(await workspace.isWorthChecking(uri))) continue;
        const analysis = await workspace.analyze(uri);
        if (!analysis || isPart(analysis)) continue;
        if (runs.length < MOST_LISTED) {
          runs.push(found(analysis, desk));
          capacities.push(analysis.estimate?.capacityBytes);
        } else more++;
      }
    }
    const lines = runs.map(({ file, verdict, peak_bytes: peak, missing }, index) => {
      const figures = peak === null ? '' : `, ${formatBytes(peak)}`;
      const questions = missing.length > 0 ? `; to ask: ${missing.join(' ')}` : '';
      return `${file}: ${verdictAt(verdict, peak ?? undefined, capacities[index])}${figures}${questions}`;
    });
    const text = lines.length > 0 ? lines.join('\n') : 'No training config was found there.';
    return { text: more > 0 ? `${text}\nand ${more} more` : text, data: { runs, more } };
  },
});

function found(analysis: Analysis, desk: Desk): z.output<typeof FOUND> {
  const { estimate } = analysis;
  return {
    file: nameOf(analysis.uri, desk),
    family: analysis.dialect.name,
    verdict: estimate?.verdict ?? 'unknown',
    peak_bytes: estimate?.peak.processBytes ?? null,
    missing: questionsOf(analysis).map(({ question }) => question),
    files: analysis.files
      .filter((uri) => canonicalUri(uri) !== canonicalUri(analysis.uri))
      .map((uri) => nameOf(uri, desk)),
  };
}
