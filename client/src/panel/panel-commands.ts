import { commands, Disposable, l10n, window } from 'vscode';
import type { SaveFormat } from '../../webview/messages';
import type { BreakdownPanels } from '../breakdown-panels';

/** What the title bar of a panel and its menu offer, for the panel in focus. */
export function panelCommands(panels: BreakdownPanels): Disposable {
  return Disposable.from(
    commands.registerCommand('oomlint.lockPanel', () => panels.active?.lock(true)),
    commands.registerCommand('oomlint.unlockPanel', () => panels.active?.lock(false)),
    commands.registerCommand('oomlint.copyPanel', () => panels.active?.ask({ kind: 'copy' })),
    commands.registerCommand('oomlint.savePanel', async () => {
      const { active } = panels;
      if (!active) return;
      const rows: readonly { readonly label: string; readonly format: SaveFormat }[] = [
        { label: l10n.t('Report (HTML)'), format: 'html' },
        { label: l10n.t('Chart as PNG'), format: 'png' },
        { label: l10n.t('Chart as SVG'), format: 'svg' },
        { label: l10n.t('Data (JSON)'), format: 'json' },
      ];
      const chosen = await window.showQuickPick(rows, { title: l10n.t('Save Breakdown As') });
      if (chosen) active.ask({ kind: 'save', format: chosen.format });
    }),
  );
}
