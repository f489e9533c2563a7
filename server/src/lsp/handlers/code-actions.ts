import { about, type Connected } from './connected';

export function onCodeActions(server: Connected): void {
  const { connection, documents, session, runner } = server;
  connection.onCodeAction((params, token) =>
    about(server, 'Code actions', [], params, token, async (uri) => {
      const document = documents.get(uri);
      const analysis = await session.analysis(uri);
      if (!analysis || !document) return [];
      const { actionsAt } = await import('../actions');
      const { client } = server;
      return actionsAt(analysis, params, { document, client }, await server.engine());
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
      return resolvedAction(action, analysis, { document, client }, await server.engine());
    }),
  );
}
