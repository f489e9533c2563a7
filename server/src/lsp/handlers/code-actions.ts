import type { Range } from '../../text/place';
import { about, type Connected } from './connected';

export function onCodeActions(server: Connected): void {
  const { connection, documents, session, runner } = server;
  connection.onCodeAction((params, token) =>
    about(server, 'Code actions', [], params, token, async (uri, view) => {
      const document = documents.get(uri);
      const analysis = await session.analysis(uri);
      if (!analysis || !document) return [];
      const { actionsAt } = await import('../actions');
      const { client } = server;
      const { notebooks } = documents;
      const engine = await server.engine();
      const lessons = async (range: Range) =>
        (await (await server.measuredRuns())?.lessons(analysis, range, () => engine.project(analysis))) ?? [];
      return actionsAt(analysis, params, { document, client, view, notebooks, lessons }, engine);
    }),
  );
  connection.onCodeActionResolve((action, token) =>
    runner.request('Code action', action, token, async () => {
      const { isActionData, resolvedAction } = await import('../actions');
      const { data } = action;
      const document = isActionData(data) ? documents.get(data.uri) : undefined;
      const analysis = document && (await session.analysis(document.uri));
      if (!document || !analysis || document.version !== data.version) return action;
      const { client } = server;
      const { notebooks } = documents;
      return resolvedAction(action, analysis, { document, client, notebooks }, await server.engine());
    }),
  );
}
