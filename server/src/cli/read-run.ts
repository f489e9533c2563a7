import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { type Estimated, isEstimated } from '../advice/changed-run';
import { joinWords } from '../results/labels';
import { fieldLabel } from '../run/field-labels';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { CliContext } from './context';
import { kindOf } from './kind-of-path';

/** The analysis of one file; undefined, with the reason reported, where it is no config. */
export async function readFile(
  file: string,
  { workspace, output, folder }: CliContext,
): Promise<Analysis | undefined> {
  const uri = pathToFileURL(path.resolve(folder, file)).href;
  const analysis = await workspace.analyze(uri);
  if (analysis) return analysis;
  const reason = (await workspace.readable(uri))
    ? say('{0} is no training config that Oomlint knows, or is switched off by a comment in it.', file)
    : await unreadable(file, folder);
  output.writeError(`oomlint: ${reason}\n`);
  return undefined;
}

/** Why a file cannot be read that somebody named. */
async function unreadable(file: string, folder: string): Promise<string> {
  if ((await kindOf(file, folder)) === 'folder')
    return say('{0} is a folder: `oomlint check {0}` looks at the configs in it.', file);
  // Other files of a run are found from where the config lies, so there has to be such a place.
  if (file === '-' || file === '/dev/stdin')
    return say('configs are not read from standard input: name a file.');
  return say('{0} cannot be read.', file);
}

/** Why a config that was read has no estimate. */
export function notEstimated(file: string, analysis: Analysis): string {
  const missing = joinWords(analysis.resolved.unknown.map(({ field }) => fieldLabel(field)));
  return missing
    ? say('{0} needs {1}', file, missing)
    : say('{0} has errors that keep it from being estimated', file);
}

/** The same where it can be estimated; undefined, with the reason reported, where it cannot. */
export async function readRun(file: string, context: CliContext): Promise<Estimated | undefined> {
  const analysis = await readFile(file, context);
  if (!analysis || isEstimated(analysis)) return analysis;
  const reason = say('{0}; there is nothing to advise yet.', notEstimated(file, analysis));
  context.output.writeError(`oomlint: ${reason}\n`);
  return undefined;
}
