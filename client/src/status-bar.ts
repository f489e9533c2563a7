import {
  type Disposable,
  l10n,
  MarkdownString,
  StatusBarAlignment,
  ThemeColor,
  window,
  workspace,
} from 'vscode';
import { ESTIMATE_COMMAND, SUPPLY_COMMAND } from '../../server/src/shared/protocol';
import { shortCardName } from '../../server/src/shared/words';
import type { StatusView } from './status-view';
import { verdictSign } from './verdict-sign';

/** Right of the language's own items: in a narrow window the leftmost goes first. */
const PRIORITY = 99;

/** The verdict in the status bar, for the active config alone. */
export class StatusBar implements Disposable {
  readonly #item = window.createStatusBarItem('oomlint.verdict', StatusBarAlignment.Right, PRIORITY);

  constructor() {
    this.#item.name = 'Oomlint';
  }

  show(view: StatusView): void {
    const item = this.#item;
    const scope = view.kind === 'config' ? view.file : undefined;
    const wanted = workspace.getConfiguration('oomlint', scope).get('statusBar.enabled', true);
    if (view.kind === 'none' || !wanted) {
      item.hide();
      return;
    }
    const tooltip = new MarkdownString('', true);
    tooltip.isTrusted = { enabledCommands: ['oomlint.restart', 'oomlint.showOutput', 'oomlint.chooseGpu'] };
    if (view.kind === 'failed') {
      item.text = `$(error) ${l10n.t('Oomlint is not running')}`;
      item.accessibilityInformation = { label: l10n.t('Oomlint is not running') };
      item.backgroundColor = new ThemeColor('statusBarItem.errorBackground');
      item.command = 'oomlint.restart';
      tooltip.appendText(l10n.t('The language server stopped. The output says why.'));
      tooltip.appendMarkdown(
        `\n\n[${l10n.t('Restart')}](command:oomlint.restart) · [${l10n.t('Show Output')}](command:oomlint.showOutput)`,
      );
    } else {
      const { status, busy, ahead, file } = view;
      const { verdict, outcome, severity, gpu, text, detail } = status;
      // `8×H100`: form and memory stand in the tooltip.
      const card = gpu && shortCardName(gpu);
      // The arrow goes ahead of the line above the text, which has the older verdict as long as it is there.
      const icon = busy ? 'sync~spin' : ahead ? 'arrow-right' : verdictSign(status);
      item.text = `$(${icon}) ${card ? `${text} · ${card}` : text}`;
      item.accessibilityInformation = { label: `Oomlint: ${outcome}. ${detail}` };
      // As Problems have it, and quiet when nothing is wrong.
      item.backgroundColor =
        severity === 'error' || severity === 'warning'
          ? new ThemeColor(`statusBarItem.${severity}Background`)
          : undefined;
      item.command = {
        title: 'Oomlint',
        command: verdict === 'unknown' && gpu === undefined ? SUPPLY_COMMAND : ESTIMATE_COMMAND,
        arguments: [file],
      };
      tooltip.appendText(detail);
      tooltip.appendMarkdown(`\n\n[${l10n.t('Choose GPU...')}](command:oomlint.chooseGpu)`);
    }
    item.tooltip = tooltip;
    item.show();
  }

  dispose(): void {
    this.#item.dispose();
  }
}
