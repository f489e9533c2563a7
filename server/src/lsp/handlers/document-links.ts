import { documentLinks } from '../../features/document-links';
import { toDocumentLink } from '../convert';
import { about, type Connected } from './connected';

export function onDocumentLinks(server: Connected): void {
  const { connection, session } = server;
  connection.onDocumentLinks((params, token) =>
    about(server, 'Document links', [], params, token, async (uri, view) => {
      const analysis = await session.analysis(uri);
      return (analysis ? documentLinks(analysis) : []).flatMap((link) => {
        const range = view.out(link.range);
        return range ? [toDocumentLink({ ...link, range })] : [];
      });
    }),
  );
}
