import { Range, TextEditorRevealType, Uri, ViewColumn, type WebviewPanel, window, workspace } from 'vscode';
import type { CausingKey } from '../../../server/src/shared/protocol';

/** Shows the value of a key in an editor beside the panel; the focus stays where it is. */
export async function revealKey(key: CausingKey, panel: WebviewPanel): Promise<void> {
  const document = await workspace.openTextDocument(Uri.parse(key.uri));
  const open = window.visibleTextEditors.find((editor) => editor.document === document);
  const beside = window.visibleTextEditors.find(({ viewColumn }) => viewColumn !== panel.viewColumn);
  const { start, end } = key.range;
  const range = new Range(start.line, start.character, end.line, end.character);
  const editor = await window.showTextDocument(document, {
    viewColumn: open?.viewColumn ?? beside?.viewColumn ?? ViewColumn.One,
    preserveFocus: true,
    selection: range,
  });
  editor.revealRange(range, TextEditorRevealType.InCenterIfOutsideViewport);
}
