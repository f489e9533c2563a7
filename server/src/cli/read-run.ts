import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { type Estimated, isEstimated } from '../advice/changed-run';
import { fieldLabel, joinWords } from '../wording/labels';
import type { Analysis } from '../workspace/analysis';
import type { CliContext } from './context';

/** The analysis of one file; undefined, with the reason said, where it is no config. */
export async function readFile(
  file: string,
  { workspace, output, folder }: CliContext,
): Promise<Analysis | undefined> {
  const uri = pathToFileURL(path.resolve(folder, file)).href;
  const analysis = await workspace.analyze(uri);
  if (analysis) return analysis;
  const reason = (await workspace.readable(uri))
    ? 'is no training config that Oomlint knows, or is switched off by a comment in it'
    : 'cannot be read';
  output.writeError(`oomlint: ${file} ${reason}.\n`);
  return undefined;
}

/** The same where it can be estimated; undefined, with the reason said, where it cannot. */
export async function readRun(file: string, context: CliContext): Promise<Estimated | undefined> {
  const analysis = await readFile(file, context);
  if (!analysis || isEstimated(analysis)) return analysis;
  const missing = joinWords(analysis.resolved.unknown.map(({ field }) => fieldLabel(field)));
  const why = missing ? `needs ${missing}` : 'has errors that keep it from being estimated';
  context.output.writeError(`oomlint: ${file} ${why}; there is nothing to advise yet.\n`);
  return undefined;
}
