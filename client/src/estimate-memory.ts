import { l10n, Position, Selection, Uri, window, workspace } from 'vscode';
import type { EstimateArguments } from '../../server/src/shared/protocol';
import type { BreakdownPanels } from './breakdown-panels';
import { type ConfigLists, pickConfig } from './pick-config';

/** `Oomlint: Estimate Memory`: from the palette, a menu with a file, or a code lens. `about`: the file, where there is one. */
export async function estimateMemory(
  panels: BreakdownPanels,
  target: unknown,
  about: Uri | undefined,
  server: ConfigLists,
): Promise<void> {
  const uri = about ?? (await pickConfig(l10n.t('Training config to estimate'), server, browse));
  if (uri === undefined) {
    return;
  }
  // Reading the file here lets the server see it as open, so that edits are followed.
  const isNotebook = /\.ipynb$/i.test(uri.path);
  await (isNotebook ? workspace.openNotebookDocument(uri) : workspace.openTextDocument(uri)).then(
    undefined,
    () => undefined,
  );
  showKey(uri, target);
  panels.show(uri);
}

/** A hint names its key: the cursor goes there, and the panel states what the key at the cursor shapes. */
function showKey(uri: Uri, target: unknown): void {
  const { position, cell = uri.toString() } = (target ?? {}) as Partial<EstimateArguments>;
  const editor = window.visibleTextEditors.find(({ document }) => document.uri.toString() === cell);
  if (editor && position) {
    const at = editor.document.validatePosition(new Position(position.line, position.character));
    editor.selection = new Selection(at, at);
  }
}

async function browse(): Promise<Uri | undefined> {
  const picked = await window.showOpenDialog({
    title: l10n.t('Training config to estimate'),
    openLabel: l10n.t('Estimate Memory'),
    canSelectMany: false,
    filters: {
      [l10n.t('Training configs')]: [
        'json',
        'jsonc',
        'yaml',
        'yml',
        'toml',
        'flags',
        'sh',
        'slurm',
        'sbatch',
        'py',
        'ipynb',
      ],
    },
  });
  return picked?.[0] instanceof Uri ? picked[0] : undefined;
}
