import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { tokensOfVerdict, verdictAt } from '../../results/labels';
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
  const { verdict, peak, hardware, foundBatch, open } = content.show.content.breakdown;
  const title = `${name}: ${verdictAt(verdict, peak?.processBytes, hardware?.capacityBytes, foundBatch, tokensOfVerdict(open))}`;
  const page = reportPage(await panelFiles(), { title, language: spoken().name, content });
  if (target === undefined) output.write(page);
  else await writeFile(path.resolve(folder, target), page);
  return content.show.content.breakdown.diagnostics.some(({ severity }) => severity === 'error')
    ? EXIT.foundErrors
    : EXIT.fine;
}
