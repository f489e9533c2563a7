import { hover } from '../../features/hover';
import { withBreakdown } from '../../features/hover-breakdown';
import { toHover } from '../convert';
import { about, type Connected } from './connected';

export function onHover(server: Connected): void {
  const { connection, session, settings } = server;
  connection.onHover((params, token) =>
    about(server, 'Hover', null, params, token, async (uri) => {
      const { client } = server;
      const analysis = await session.analysis(uri);
      const engine = await server.engine();
      const text = analysis && (await settings.of(uri)).hover && hover(analysis, params.position, engine);
      if (!analysis || !text) return null;
      return toHover(client.hasCommands ? withBreakdown(text, analysis) : text, client.support);
    }),
  );
}
