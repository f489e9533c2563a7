import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { learnedFacts } from '../features/learned-facts';
import { learnedFile } from '../features/learned-file';
import type { LaunchSearch } from '../features/oom/launched';
import type { RunRecord } from '../records/run-folder';
import { findField } from '../run/parse-field';
import { didYouMean } from '../wording/closest';
import { say } from '../wording/say';
import { type CliContext, EXIT } from './context';
import { displayPath } from './report';
import { writeEdited } from './write-edited';

/** `oomlint measured --learn`: writes facts that a run measured to the project file, for runs like it. */
export async function learnFrom(
  run: string,
  choice: string | true,
  { record, search: { launched } }: { readonly record: RunRecord; readonly search: LaunchSearch },
  { output, folder }: CliContext,
): Promise<number> {
  const refuse = (reason: string) => {
    output.writeError(`oomlint: ${reason}\n`);
    return EXIT.couldNotRun;
  };
  if (!launched) return refuse(say('What a run measured holds for runs like it: name its config.'));
  const { analysis, workspace } = launched;
  const all = learnedFacts(record, analysis);
  if (all.length === 0)
    return refuse(say('Nothing in {0} is a fact that the config does not set already.', run));
  const names = choice === true ? undefined : choice.split(',').map((name) => name.trim());
  const unknown = names?.find((name) => !all.some(({ field }) => field === findField(name)));
  if (unknown !== undefined) {
    const fields = all.map(({ field }) => field);
    return refuse(say('{0} did not measure {1}.{2}', run, unknown, didYouMean(unknown, fields)));
  }
  const chosen = names ? all.filter(({ field }) => names.some((name) => findField(name) === field)) : all;
  const place = pathToFileURL(path.resolve(folder, run)).href;
  const made = learnedFile(chosen, place, analysis, await workspace.project(analysis));
  if ('problem' in made) return refuse(made.problem);
  const file = fileURLToPath(made.uri);
  if (made.before === undefined) await writeFile(file, made.after);
  else await writeEdited(file, made.before, made.after);
  for (const { words } of chosen) output.write(`${words}\n`);
  const shown = displayPath(made.uri, folder);
  output.write(
    `${say('Written to {0}, for runs of {1} that are still like this one.', shown, made.match)}\n`,
  );
  return EXIT.fine;
}
