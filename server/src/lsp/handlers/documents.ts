import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Connected } from './connected';

/** Texts that an editor shows: each change, save and end of them. */
export function onDocuments({ documents, runner, session }: Connected): void {
  const opening = new WeakSet<TextDocument>();
  documents.onDidOpen(({ document }) => {
    opening.add(document);
    session.opened(document);
  });
  // Fires for the opening as well, right after `onDidOpen`.
  documents.onDidChangeContent(({ document }) => session.changed(document, opening.delete(document)));
  documents.onDidSave(({ document }) => runner.background('Saving', () => session.saved(document.uri)));
  documents.onDidClose(({ document }) => runner.background('Closing', () => session.closed(document.uri)));
}
