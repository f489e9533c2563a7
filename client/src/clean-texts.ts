import { Disposable, languages, type TextDocument, workspace } from 'vscode';
import { DOCUMENT_SELECTOR } from './config-documents';

/** A save follows the event that a text is clean again within this. */
const SAVE_FOLLOWS_MS = 200;

/**
 * Texts that are as on disk again without having been saved: taken anew after a checkout, or reverted. The protocol has no word for it,
 * and problems are those of the saved text.
 */
export function followsCleanTexts(cleaned: (document: TextDocument) => void): Disposable {
  const waiting = new Map<TextDocument, NodeJS.Timeout>();
  const forget = (document: TextDocument) => {
    clearTimeout(waiting.get(document));
    waiting.delete(document);
  };
  return Disposable.from(
    workspace.onDidChangeTextDocument(({ document }) => {
      forget(document);
      if (document.isDirty || document.isUntitled) return;
      // Cells of notebooks are never dirty by themselves.
      if (document.uri.scheme === 'vscode-notebook-cell') return;
      if (languages.match(DOCUMENT_SELECTOR, document) === 0) return;
      waiting.set(
        document,
        setTimeout(() => {
          waiting.delete(document);
          if (!document.isDirty && !document.isClosed) cleaned(document);
        }, SAVE_FOLLOWS_MS),
      );
    }),
    workspace.onDidSaveTextDocument(forget),
    workspace.onDidCloseTextDocument(forget),
    new Disposable(() => {
      for (const timer of waiting.values()) clearTimeout(timer);
    }),
  );
}
