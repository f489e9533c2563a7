import type { CodeLens } from 'vscode-languageserver';
import { CONFIGS_VIEW_COMMAND } from '../../features/workspace-protocol';
import { say } from '../../wording/say';
import type { Analysis } from '../../workspace/analysis';
import { mutable, toBatchLens, toCodeLens } from '../convert';
import type { Engine } from '../runtime';
import type { TextView } from '../text-view';
import { about, type Connected } from './connected';

export function onCodeLens(server: Connected): void {
  const { connection, session, settings, runner, documents } = server;
  /** What stood above each open text that could be read. */
  const last = new Map<string, string>();
  documents.files.onDidClose(({ document: { uri } }) => last.delete(uri));
  connection.onCodeLens((params, token) =>
    about(server, 'Code lens', [], params, token, async (uri, view) => {
      const analysis = await session.analysisToDraw(uri, 'lenses');
      if (!analysis && (await session.isProjectFile(uri))) return aboveProjectFile(server, uri);
      if (!analysis || !(await settings.of(uri)).codeLens) return [];
      const engine = await server.engine();
      const { codeLens, measuredLens, runLens } = engine.drawing;
      const first = codeLens(analysis);
      const known = last.get(uri);
      if (analysis.estimate && first) last.set(uri, first.title);
      // An edit on its way leaves no gap where the answer was.
      if (analysis.broken && first && known)
        return inView(
          [toCodeLens({ ...first, title: say('{0} · before this edit', known) })],
          view,
          analysis,
          engine,
        );
      const measured = measuredLens(analysis, await (await server.measuredRuns())?.beside(analysis));
      const lenses = [first, runLens(analysis), measured].flatMap((lens) =>
        lens ? [toCodeLens(lens, server.client.hasCommands)] : [],
      );
      const found = inView(lenses, view, analysis, engine);
      const [drawn] = found;
      if (!drawn || !analysis.estimate) return found;
      // What is ready now is drawn at once; what takes longer is worked out when it is about to be shown.
      const batch = engine.promptBatchLens(analysis);
      const later: CodeLens = { range: drawn.range, data: uri };
      return [...found, batch ? toBatchLens(later, batch) : later];
    }),
  );
  connection.onCodeLensResolve((lens, token) => {
    // One that has its command needs nothing.
    if (typeof lens.data !== 'string') return lens;
    const uri = lens.data;
    // The text may have become one without an estimate since: what is clicked leads to the panel all the same.
    const without = toBatchLens(lens, { title: say('Open the memory breakdown') });
    return runner.request<CodeLens>('Code lens', without, token, async () => {
      const analysis = await session.analysis(uri);
      const batch = analysis && (await server.engine()).batchLens(analysis);
      return batch ? toBatchLens(lens, batch) : without;
    });
  });
}

/** Which configs a project file serves, and the way to their view where the editor has it. */
async function aboveProjectFile({ settings, client, engine }: Connected, uri: string): Promise<CodeLens[]> {
  const lens = (await settings.of(uri)).codeLens && (await (await engine()).projectLens(uri));
  if (!lens) return [];
  const start = { line: 0, character: 0 };
  const command = client.hasCommands ? CONFIGS_VIEW_COMMAND : '';
  return [{ range: { start, end: start }, command: { ...lens, command } }];
}

/** Of a notebook the lenses stand in the cell that trains. */
function inView(
  lenses: readonly CodeLens[],
  view: TextView,
  analysis: Analysis,
  { drawing }: Engine,
): CodeLens[] {
  if (view.cell === undefined) return [...lenses];
  const place = drawing.trainingPlace(analysis);
  const range = place && view.out(place);
  return range ? lenses.map((lens) => ({ ...lens, range: mutable(range) })) : [];
}
