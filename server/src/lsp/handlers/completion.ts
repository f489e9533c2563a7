import { SCHEMAS_NOTIFICATION, type SchemasParams } from '../../features/workspace-protocol';
import { toCompletionItem } from '../convert';
import { about, type Connected } from './connected';

/** Characters after which editors ask for completions by themselves. */
export const TRIGGERS = ['"', ' ', '-', '=', '/', '[', '.'];

export function onCompletion(server: Connected): void {
  const { connection, documents, session } = server;
  connection.onCompletion((params, token) =>
    about(server, 'Completion', [], params, token, async (uri) => {
      const document = documents.get(uri);
      if (!document || !(await session.mayBeConfig(uri))) return [];
      const engine = await server.engine();
      const text = document.getText();
      const found = await engine.completions(uri, text, params.position, server.schemasServed);
      // A blank opens values, never the list of all keys.
      const asked =
        params.context?.triggerCharacter === ' ' ? found.filter(({ kind }) => kind === 'value') : found;
      return asked.map((entry) => toCompletionItem(entry, server.client.support));
    }),
  );
  connection.onNotification(SCHEMAS_NOTIFICATION, ({ served }: SchemasParams) => {
    server.schemasServed = served === true;
  });
}
