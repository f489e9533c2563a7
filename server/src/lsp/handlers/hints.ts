import { contains } from '../../features/ranges';
import { type HintData, toInlayHint, toMarkup } from '../convert';
import { about, type Connected } from './connected';

export function onInlayHints(server: Connected): void {
  const { connection, documents, session, settings, runner } = server;
  connection.languages.inlayHint.on((params, token) =>
    about(server, 'Inlay hints', [], params, token, async (uri, view) => {
      const version = documents.get(uri)?.version;
      const analysis = await session.analysisToDraw(uri, 'hints');
      if (!analysis || version === undefined) return [];
      const { atLineEnds, inlayHints } = (await server.engine()).drawing;
      const hints = atLineEnds(
        inlayHints(analysis, (await settings.of(uri)).inlayHints),
        documents.get(uri)?.getText() ?? '',
      );
      const { hasCommands } = server.client;
      return hints.flatMap((hint) => {
        const position = view.out({ start: hint.position, end: hint.position })?.start;
        if (!position || !contains(params.range, position)) return [];
        const place = view.out({ start: hint.place, end: hint.place })?.start ?? position;
        const data = { uri, version, fields: hint.fields };
        return [toInlayHint({ ...hint, position, place }, data, hasCommands, view.cell)];
      });
    }),
  );
  connection.languages.inlayHint.resolve((hint, token) =>
    runner.request('Inlay hint', hint, token, async () => {
      const { uri, version, fields } = hint.data as HintData;
      // A hint of an older text gets no words of the newer one: the editor asks for hints anew by itself.
      const analysis = documents.get(uri)?.version === version ? await session.analysis(uri) : undefined;
      if (!analysis) return hint;
      const { hintTooltip } = await import('../../features/hint-tooltip');
      const { isFieldPath } = (await server.engine()).drawing;
      const tooltip = toMarkup(hintTooltip(analysis, fields.filter(isFieldPath)), server.client.support);
      return { ...hint, tooltip };
    }),
  );
}
