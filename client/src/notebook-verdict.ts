import {
  Disposable,
  EventEmitter,
  type NotebookCell,
  NotebookCellStatusBarAlignment,
  NotebookCellStatusBarItem,
  notebooks,
  workspace,
} from 'vscode';
import { ESTIMATE_COMMAND, type StatusParams } from '../../server/src/shared/protocol';
import { shortCardName } from '../../server/src/shared/words';
import type { LanguageServer } from './language-server';
import { NOTEBOOK_TYPE } from './notebook-cells';
import { verdictSign } from './verdict-sign';

/** The verdict below the cell that trains. */
export function showsVerdictInCells(server: LanguageServer): Disposable {
  const known = new Map<string, StatusParams>();
  const changed = new EventEmitter<void>();
  const provider = notebooks.registerNotebookCellStatusBarItemProvider(NOTEBOOK_TYPE, {
    onDidChangeCellStatusBarItems: changed.event,
    provideCellStatusBarItems: (cell: NotebookCell) => {
      const shown = known.get(cell.notebook.uri.toString());
      if (!shown?.status || shown.cell !== cell.document.uri.toString()) return [];
      const wanted = workspace.getConfiguration('oomlint', cell.notebook.uri).get('statusBar.enabled', true);
      return wanted ? [itemOf(shown, shown.status)] : [];
    },
  });
  return Disposable.from(
    provider,
    changed,
    server.onStatus((status) => {
      if (status.cell === undefined && !known.has(status.uri)) return;
      if (status.cell === undefined) known.delete(status.uri);
      else known.set(status.uri, status);
      changed.fire();
    }),
    server.onState((state) => {
      if (state !== 'running') known.clear();
      changed.fire();
    }),
    workspace.onDidCloseNotebookDocument(({ uri }) => known.delete(uri.toString())),
  );
}

function itemOf(
  { uri }: StatusParams,
  status: NonNullable<StatusParams['status']>,
): NotebookCellStatusBarItem {
  const { outcome, text, gpu, detail } = status;
  const withGpu = gpu ? `${text} · ${shortCardName(gpu)}` : text;
  const item = new NotebookCellStatusBarItem(
    `$(${verdictSign(status)}) ${withGpu}`,
    NotebookCellStatusBarAlignment.Left,
  );
  item.tooltip = detail;
  item.accessibilityInformation = { label: `Oomlint: ${outcome}. ${detail}` };
  item.command = { title: 'Oomlint', command: ESTIMATE_COMMAND, arguments: [{ uri }] };
  return item;
}
