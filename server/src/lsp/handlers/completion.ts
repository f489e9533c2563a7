import {
  SCHEMA_REQUEST,
  SCHEMAS_NOTIFICATION,
  type SchemaParams,
  type SchemasParams,
  TEXTS_REQUEST,
  type TextsParams,
} from '../../features/workspace-protocol';
import { say } from '../../wording/say';
import { toCompletionItem } from '../convert';
import { about, type Connected } from './connected';

/** Characters after which editors ask for completions by themselves. */
export const TRIGGERS = ['"', ' ', '-', '=', '/', '[', '.'];

export function onCompletion(server: Connected): void {
  const { connection, documents, session } = server;
  connection.onCompletion((params, token) =>
    about(server, 'Completion', [], params, token, async (uri, view) => {
      const document = documents.get(uri);
      const worthIt = (await session.mayBeConfig(uri)) || (await session.isProjectFile(uri));
      if (!document || !worthIt) return [];
      const engine = await server.engine();
      const text = document.getText();
      const found = await engine.completions(uri, text, view.into(params.position), server.schemasServed);
      // A blank opens values, never the list of all keys.
      const asked =
        params.context?.triggerCharacter === ' ' ? found.filter(({ kind }) => kind === 'value') : found;
      const items = asked.flatMap((entry) => {
        const range = view.out(entry.range);
        return range ? [toCompletionItem({ ...entry, range }, server.client.support)] : [];
      });
      // What took too long to try is remembered by the time that the editor asks again.
      return asked.some(({ untried }) => untried) ? { isIncomplete: true, items } : items;
    }),
  );
  connection.onNotification(SCHEMAS_NOTIFICATION, ({ served }: SchemasParams) => {
    server.schemasServed = served === true;
  });
  connection.onRequest(TEXTS_REQUEST, ({ texts }: TextsParams) => texts.map((text) => say(text)));
  connection.onRequest(SCHEMA_REQUEST, async ({ name }: SchemaParams) =>
    (await server.engine()).schema(name),
  );
}
