import * as z from 'zod/mini';
import type { Desk } from '../agents/desk';
import { configAt } from '../agents/run-summary';
import { path, runOptionsOf, STATED } from '../agents/stated';
import { pageContent } from './html-report/page-content';
import { CONTENT_KEY, viewPage } from './html-report/page-frame';
import { panelFiles } from './html-report/panel-files';

/** The page of the view. Rejects where the panel's files are not beside the program. */
export async function viewText(): Promise<string> {
  return viewPage(await panelFiles());
}

/** What the view needs of the run that was estimated, which the model is not given. Rejects as the tool does. */
export async function viewContent(input: unknown, desk: Desk): Promise<Readonly<Record<string, object>>> {
  const { file, ...stated } = z.object({ file: path(), ...STATED }).parse(input);
  const analysis = await configAt(file, desk.workspace(runOptionsOf(stated)), desk);
  return { [CONTENT_KEY]: pageContent(analysis, file, desk.folders[0] ?? analysis.uri) };
}
