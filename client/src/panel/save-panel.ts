import { env, l10n, type Uri, window, workspace } from 'vscode';
import type { SaveFormat } from '../../webview/messages';

const NAMES: Readonly<Record<SaveFormat, string>> = { svg: 'SVG', png: 'PNG', json: 'JSON', html: 'HTML' };

/** Asks where to, and writes what the page made. A page to print is offered to be opened in the browser. */
export async function savePanel(format: SaveFormat, data: string, config: Uri | undefined): Promise<void> {
  const target = await window.showSaveDialog({
    defaultUri: config?.with({ path: `${config.path.replace(/\.[^./]+$/, '')}-memory.${format}` }),
    filters: { [NAMES[format]]: [format] },
  });
  if (target === undefined) return;
  const bytes = Buffer.from(data, format === 'png' ? 'base64' : 'utf8');
  await workspace.fs.writeFile(target, new Uint8Array(bytes));
  const open = l10n.t('Open');
  const name = target.path.split('/').pop() ?? target.path;
  if ((await window.showInformationMessage(l10n.t('Saved {0}.', name), open)) === open) {
    await env.openExternal(target);
  }
}
