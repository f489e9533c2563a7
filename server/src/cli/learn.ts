import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { learnedEntries, learnedFacts } from '../features/learned-facts';
import { withMeasured } from '../features/measured-entries';
import type { Launched } from '../features/oom/launched';
import { findField } from '../run/parse-field';
import { parentUri, relativePath } from '../text/uri';
import { didYouMean } from '../wording/closest';
import { say } from '../wording/say';
import { type CliContext, EXIT } from './context';
import { displayPath } from './report';
import type { RunRecord } from './run-folder';
import { writeEdited } from './write-edited';

/** `oomlint measured --learn`: writes facts that a run measured to the project file, for runs like it. */
export async function learnFrom(
  run: string,
  choice: string | true,
  { record, launched }: { readonly record: RunRecord; readonly launched: Launched | undefined },
  { output, folder, workspace }: CliContext,
): Promise<number> {
  const refuse = (reason: string) => {
    output.writeError(`oomlint: ${reason}\n`);
    return EXIT.couldNotRun;
  };
  if (!launched) return refuse(say('What a run measured holds for runs like it: name its config.'));
  const { analysis } = launched;
  const all = learnedFacts(record, analysis);
  if (all.length === 0)
    return refuse(say('Nothing in {0} is a fact that the config does not state already.', run));
  const names = choice === true ? undefined : choice.split(',').map((name) => name.trim());
  const unknown = names?.find((name) => !all.some(({ field }) => field === findField(name)));
  if (unknown !== undefined) {
    const fields = all.map(({ field }) => field);
    return refuse(say('{0} did not measure {1}.{2}', run, unknown, didYouMean(unknown, fields)));
  }
  const chosen = names ? all.filter(({ field }) => names.some((name) => findField(name) === field)) : all;
  const project = await workspace.project(analysis);
  if (!project) return refuse(say('There is no place for an oomlint.yaml beside {0}.', analysis.uri));
  const home = parentUri(project.uri) ?? project.uri;
  const source = relativePath(home, pathToFileURL(path.resolve(folder, run)).href) ?? path.basename(run);
  const beneath = relativePath(home, analysis.uri);
  if (beneath === undefined)
    return refuse(say('There is no place for an oomlint.yaml beside {0}.', analysis.uri));
  // A pattern without a slash is of files at any depth.
  const match = beneath.includes('/') ? beneath : `/${beneath}`;
  const entries = learnedEntries(chosen, analysis);
  const after = withMeasured(project.uri, project.text ?? '', { source, match, entries });
  const shown = displayPath(project.uri, folder);
  if (after === undefined)
    return refuse(
      say('{0}: its `measured` is no list with a line for each entry; nothing was written.', shown),
    );
  const file = fileURLToPath(project.uri);
  if (project.text === undefined) await writeFile(file, after);
  else await writeEdited(file, project.text, after);
  for (const { words } of chosen) output.write(`${words}\n`);
  output.write(`${say('Written to {0}, for runs of {1} that are still like this one.', shown, beneath)}\n`);
  return EXIT.fine;
}
