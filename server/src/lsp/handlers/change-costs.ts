import { CHANGE_COST_REQUEST, type ChangeCost, type ChangeCostParams } from '../../features/protocol';
import { canonicalUri, fileName } from '../../text/uri';
import { PROJECT_FILE_NAMES } from '../../workspace/project-file-names';
import type { Engine } from '../runtime';
import type { Connected } from './connected';

/** Of the configs that read a project file, so many are estimated under its two texts. */
const MOST_READERS = 24;

/** What a change costs that an editor shows in a diff or above a file. */
export function onChangeCosts({ connection, runner, session, engine: loaded }: Connected): void {
  connection.onRequest<ChangeCost | null, void>(CHANGE_COST_REQUEST, (params: ChangeCostParams, token) =>
    runner.request<ChangeCost | null>('Cost', null, token, async () => {
      const engine = await loaded();
      const { uri, before, after } = params;
      if (PROJECT_FILE_NAMES.includes(fileName(uri)))
        return costOfProject(engine, params, () => token.isCancellationRequested);
      const analysis = await session.analysisOfFile(uri);
      if (!analysis) return null;
      const { changeCost } = await import('../../features/change-cost');
      const from = await engine.analyzeAs(uri, before);
      const to = after === undefined ? analysis : await engine.analyzeAs(uri, after);
      return from && to ? changeCost(from, to) : null;
    }),
  );
}

/** Of a project file: what its change costs the configs of the workspace that read it. */
async function costOfProject(
  engine: Engine,
  { uri, before, after }: ChangeCostParams,
  isCancelled: () => boolean,
): Promise<ChangeCost | null> {
  const { projectChangeCost } = await import('../../features/project-change-cost');
  const key = canonicalUri(uri);
  const { configs } = await engine.configs(isCancelled, true);
  const readers = configs.filter(({ files }) => files.some((file) => canonicalUri(file) === key));
  const under = (config: string, text: string) => engine.preview(config, new Map([[uri, text]]));
  const found = [];
  for (const reader of readers.slice(0, MOST_READERS)) {
    if (isCancelled()) return null;
    const from = await under(reader.uri, before);
    const to = after === undefined ? await engine.analyze(reader.uri) : await under(reader.uri, after);
    if (from && to) found.push({ before: from, after: to });
  }
  return projectChangeCost(uri, found, readers.length > MOST_READERS);
}
