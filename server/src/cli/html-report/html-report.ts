import { readFile as read, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { breakdownOf, openedOf } from '../../features/breakdown';
import { verdictLabel } from '../../results/labels';
import { say, spoken } from '../../wording/say';
import { type CliContext, EXIT } from '../context';
import { readFile } from '../read-run';
import { displayPath } from '../report';
import { type PanelFiles, pageFrame } from './page-frame';

/** The panel's files: beside the bundle, else where the client is built. Rejects where they are nowhere. */
async function panelFiles(): Promise<PanelFiles> {
  const text = async (name: string) => {
    const places = [__dirname, path.join(__dirname, '..', '..', '..', '..', 'client', 'dist')];
    for (const place of places) {
      const found = await read(path.join(place, name), 'utf8').catch(() => undefined);
      if (found !== undefined) return found.replace(/\n\/[/*]# sourceMappingURL=.*\s*$/, '');
    }
    throw new Error(`${name} is not here`);
  };
  return { script: await text('panel.js'), style: await text('panel.css') };
}

/** `oomlint report --html`: the panel of one config as one file that needs no editor and no network. */
export async function htmlReport(
  file: string,
  target: string | undefined,
  context: CliContext,
): Promise<number> {
  const { output, folder } = context;
  const analysis = await readFile(file, context);
  if (!analysis) return EXIT.couldNotRun;
  const breakdown = breakdownOf(analysis);
  // Nothing is tried without the engine.
  const shown = { ...breakdown, knobs: undefined };
  const name = displayPath(analysis.uri, folder);
  const { name: language, bundle } = spoken();
  const opened = openedOf(analysis);
  const content = {
    show: { type: 'show', language, bundle, content: { kind: 'breakdown', file: name, breakdown: shown } },
    peak: opened
      ? { type: 'opened', opened }
      : { type: 'opened', error: say('There is no estimate to open yet.') },
    other: {
      type: 'opened',
      error: say('In a report the figures of the peak can be opened, not those of other moments.'),
    },
  };
  // Whoever is sent the page learns nothing of the machine that it was made on.
  const here = pathToFileURL(folder + path.sep).href;
  const relative = JSON.parse(JSON.stringify(content).replaceAll(here, 'file:///')) as typeof content;
  const title = `${name}: ${verdictLabel(breakdown.verdict)}`;
  const page = pageFrame(await panelFiles(), { title, language, ...relative });
  if (target === undefined) output.write(page);
  else await writeFile(path.resolve(folder, target), page);
  return breakdown.diagnostics.some(({ severity }) => severity === 'error') ? EXIT.foundErrors : EXIT.fine;
}
