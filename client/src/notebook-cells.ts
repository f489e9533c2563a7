import {
  type NotebookCell,
  type NotebookDocument,
  type TextDocument,
  type Uri,
  window,
  workspace,
} from 'vscode';

/** Notebooks whose cells are analysed. */
export const NOTEBOOK_TYPE = 'jupyter-notebook';
/** Scheme of the cells' texts, in every editor that draws them. */
const CELL_SCHEME = 'vscode-notebook-cell';

/** Whether a text is a Python cell of a notebook. */
export function isPythonCell({ uri, languageId }: TextDocument): boolean {
  return uri.scheme === CELL_SCHEME && languageId === 'python';
}

/** The cell that a text is; undefined where it is a file. */
export function cellOf(uri: Uri): NotebookCell | undefined {
  if (uri.scheme !== CELL_SCHEME) return undefined;
  const wanted = uri.toString();
  for (const notebook of workspace.notebookDocuments) {
    const cell = notebook.getCells().find(({ document }) => document.uri.toString() === wanted);
    if (cell) return cell;
  }
  return undefined;
}

/** The file that a text is analysed as: the notebook of a cell, else itself. */
export function analysedFile(uri: Uri): Uri {
  return cellOf(uri)?.notebook.uri ?? uri;
}

/** The notebook of that address, where it is open. */
export function openNotebook(uri: Uri): NotebookDocument | undefined {
  return workspace.notebookDocuments.find((notebook) => notebook.uri.toString() === uri.toString());
}

/** The file that the person looks at: that of the active text, or of the notebook where none of its cells is typed in. */
export function activeFile(): Uri | undefined {
  const text = window.activeTextEditor?.document.uri;
  return text ? analysedFile(text) : window.activeNotebookEditor?.notebook.uri;
}
