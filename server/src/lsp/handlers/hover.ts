import { mutable, toHover } from '../convert';
import { namesCells } from '../in-cells';
import { about, type Connected } from './connected';

export function onHover(server: Connected): void {
  const { connection, documents, session, settings } = server;
  connection.onHover((params, token) =>
    about(server, 'Hover', null, params, token, async (uri, view) => {
      const { client } = server;
      const analysis = await session.analysis(uri);
      const engine = await server.engine();
      const document = documents.get(uri);
      if (!analysis && document && (await session.isProjectFile(uri)) && (await settings.of(uri)).hover) {
        // Whoever serves the schema of the file shows what it states.
        if (server.schemasServed) return null;
        const text = await engine.projectHover(uri, document.getText(), params.position);
        return text ? toHover(text, client.support) : null;
      }
      const { hover, withBreakdown } = engine.drawing;
      const { whatIf, decisions } = engine;
      const texts = { whatIf, decisions, schemaShown: server.schemasServed };
      const text =
        analysis && (await settings.of(uri)).hover && hover(analysis, view.into(params.position), texts);
      if (!analysis || !text) return null;
      const whole = client.hasCommands ? withBreakdown(text, analysis) : text;
      if (view.cell === undefined) return toHover(whole, client.support);
      const markdown = namesCells(whole.markdown, documents.notebooks);
      const { contents, range } = toHover({ ...whole, markdown }, client.support);
      const inCell = range && view.out(range);
      return { contents, ...(inCell ? { range: mutable(inCell) } : {}) };
    }),
  );
}
