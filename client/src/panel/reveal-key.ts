import {
  type NotebookCell,
  NotebookEditorRevealType,
  NotebookRange,
  Range,
  Selection,
  TextEditorRevealType,
  Uri,
  ViewColumn,
  type WebviewPanel,
  window,
  workspace,
} from 'vscode';
import type { CausingKey } from '../../../server/src/shared/protocol';
import { cellOf, openNotebook } from '../notebook-cells';

/** Shows a file, a notebook as one. */
export async function openFile(uri: Uri, viewColumn: ViewColumn | undefined): Promise<void> {
  const notebook = openNotebook(uri);
  if (notebook) await window.showNotebookDocument(notebook, { viewColumn });
  else await window.showTextDocument(uri, { viewColumn });
}

/** Shows the value of a key in an editor beside the panel; the focus stays where it is. */
export async function revealKey(key: CausingKey, panel: WebviewPanel): Promise<void> {
  const cell = cellOf(Uri.parse(key.uri));
  if (cell) return revealInCell(cell, key);
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

/** Cells are shown by their notebook: the cell is selected, and the key in its text where the editor has drawn it. */
async function revealInCell(
  { notebook, index, document }: NotebookCell,
  { range }: CausingKey,
): Promise<void> {
  const cells = new NotebookRange(index, index + 1);
  const shown = window.visibleNotebookEditors.find((editor) => editor.notebook === notebook);
  const editor = await window.showNotebookDocument(notebook, {
    viewColumn: shown?.viewColumn,
    preserveFocus: true,
    selections: [cells],
  });
  editor.revealRange(cells, NotebookEditorRevealType.InCenterIfOutsideViewport);
  const text = window.visibleTextEditors.find((one) => one.document === document);
  if (!text) return;
  const { start, end } = range;
  text.selection = new Selection(start.line, start.character, end.line, end.character);
}
