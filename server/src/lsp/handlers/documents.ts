import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Connected } from './connected';

/** Texts that an editor shows: each change, save and end of them. */
export function onDocuments({ connection, documents, host, runner, session }: Connected): void {
  const { files, notebooks } = documents;
  /** The file of a notebook that is shown as one is left alone: what counts of it are its cells. */
  const counts = ({ uri }: TextDocument) => notebooks.get(uri) === undefined;
  const opening = new WeakSet<TextDocument>();
  files.onDidOpen(({ document }) => {
    if (!counts(document)) return;
    opening.add(document);
    session.opened(document);
  });
  // Fires for the opening as well, right after `onDidOpen`.
  files.onDidChangeContent(({ document }) => {
    if (counts(document)) session.changed(document, opening.delete(document));
  });
  files.onDidSave(({ document }) => {
    if (counts(document)) runner.background('Saving', () => session.saved(document.uri));
  });
  files.onDidClose(({ document }) => {
    if (counts(document)) runner.background('Closing', () => session.closed(document.uri));
  });
  notebooks.listen(
    connection,
    {
      opened: (document) => {
        session.opened(document);
        session.changed(document, true);
      },
      changed: (document) => session.changed(document, false),
      saved: (uri) => runner.background('Saving', () => session.saved(uri)),
      closed: (uri) => runner.background('Closing', () => session.closed(uri)),
    },
    (uri) => host.readSaved(uri),
  );
}
