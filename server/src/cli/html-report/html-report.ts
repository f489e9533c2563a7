import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { breakdownOutcome } from '../../features/breakdown-outcome';
import { spoken } from '../../wording/say';
import { type CliContext, EXIT } from '../context';
import { readFile } from '../read-run';
import { displayPath } from '../report';
import { pageContent } from './page-content';
import { reportPage } from './page-frame';
import { panelFiles } from './panel-files';

/** `oomlint report --html`: the panel of one config as one file that needs no editor and no network. */
export async function htmlReport(
  file: string,
  target: string | undefined,
  context: CliContext,
): Promise<number> {
  const { output, folder } = context;
  const analysis = await readFile(file, context);
  if (!analysis) return EXIT.couldNotRun;
  const name = displayPath(analysis.uri, folder);
  const content = pageContent(analysis, name, pathToFileURL(folder + path.sep).href);
  const { breakdown } = content.show.content;
  const title = `${name}: ${breakdownOutcome(breakdown)}`;
  const page = reportPage(await panelFiles(), { title, language: spoken().name, content });
  if (target === undefined) output.write(page);
  else await writeFile(path.resolve(folder, target), page);
  return breakdown.diagnostics.some(({ severity }) => severity === 'error') ? EXIT.foundErrors : EXIT.fine;
}
