import { type Disposable, LanguageStatusSeverity, l10n, languages } from 'vscode';
import { ESTIMATE_COMMAND, SUPPLY_COMMAND } from '../../server/src/shared/protocol';
import { CONFIG_SELECTOR } from './config-documents';
import type { StatusView } from './status-view';

const SEVERITIES = {
  error: LanguageStatusSeverity.Error,
  warning: LanguageStatusSeverity.Warning,
  information: LanguageStatusSeverity.Information,
  hint: LanguageStatusSeverity.Information,
} as const;

/** The language status item `{}`. */
export class LanguageStatus implements Disposable {
  readonly #item = languages.createLanguageStatusItem('oomlint.status', CONFIG_SELECTOR);

  constructor() {
    this.#item.name = 'Oomlint';
  }

  show(view: StatusView): void {
    const item = this.#item;
    item.busy = false;
    if (view.kind === 'failed') {
      item.selector = CONFIG_SELECTOR;
      item.severity = LanguageStatusSeverity.Error;
      item.text = l10n.t('Oomlint is not running');
      item.detail = l10n.t('The language server stopped. The output says why.');
      item.command = { title: l10n.t('Restart'), command: 'oomlint.restart' };
    } else if (view.kind === 'config') {
      const { document, file, status } = view;
      item.selector = document
        ? { language: document.languageId, scheme: document.uri.scheme }
        : { language: 'oomlint-no-config' };
      item.text = status.text;
      item.detail = [status.outcome, status.gpu, status.dialect].filter(Boolean).join(' · ');
      item.accessibilityInformation = { label: `Oomlint: ${status.detail}` };
      item.severity = SEVERITIES[status.severity ?? 'information'];
      item.busy = view.busy;
      item.command = {
        ...(status.verdict === 'unknown' && status.gpu === undefined
          ? { title: l10n.t('Set Missing Values'), command: SUPPLY_COMMAND }
          : { title: l10n.t('Show Breakdown'), command: ESTIMATE_COMMAND }),
        tooltip: status.detail,
        arguments: [file],
      };
    } else {
      // Other JSON and YAML files are none of our business: the item stays out of their status.
      item.selector = { language: 'oomlint-no-config' };
      item.text = 'Oomlint';
    }
  }

  dispose(): void {
    this.#item.dispose();
  }
}
