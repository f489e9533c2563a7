import {
  commands,
  Disposable,
  LanguageStatusSeverity,
  languages,
  type TextDocument,
  window,
  workspace,
} from 'vscode';
import { ESTIMATE_COMMAND, type StatusParams, SUPPLY_COMMAND } from '../../server/src/features/protocol';
import { CONFIG_SELECTOR, mayBeConfig } from './config-documents';
import type { LanguageServer } from './language-server';

/** A spinner that nothing ends would lie; analyses take well under this. */
const BUSY_LIMIT_MS = 10_000;
const VERDICTS = { fits: 'Fits', tight: 'Tight', exceeds: 'Does not fit', unknown: 'Not known yet' } as const;

/** The language status item `{}` of the active config, and the context key that menus ask for. */
export function showStatus(server: LanguageServer): Disposable {
  const item = languages.createLanguageStatusItem('oomlint.status', CONFIG_SELECTOR);
  item.name = 'Oomlint';
  const known = new Map<string, StatusParams>();
  let busyUntil: NodeJS.Timeout | undefined;

  function update(): void {
    const document = window.activeTextEditor?.document;
    const status = document && known.get(document.uri.toString());
    void commands.executeCommand('setContext', 'oomlint.configActive', status?.status !== undefined);
    clearTimeout(busyUntil);
    item.busy = false;
    if (server.state === 'failed') {
      item.selector = CONFIG_SELECTOR;
      item.severity = LanguageStatusSeverity.Error;
      item.text = 'Oomlint is not running';
      item.detail = 'The language server stopped';
      item.command = { title: 'Show Output', command: 'oomlint.showOutput' };
    } else if (document && status?.status) {
      showVerdict(document, status.version, status.status);
    } else {
      // Other JSON and YAML files are none of our business: the item stays out of their status.
      item.selector = { language: 'oomlint-no-config' };
      item.text = 'Oomlint';
    }
  }

  function showVerdict(
    document: TextDocument,
    version: number,
    status: NonNullable<StatusParams['status']>,
  ): void {
    item.selector = { language: document.languageId, scheme: document.uri.scheme };
    item.text = status.text;
    item.detail = `${VERDICTS[status.verdict]} (${status.dialect})`;
    item.accessibilityInformation = { label: `Oomlint: ${status.detail}` };
    item.severity =
      status.verdict === 'exceeds'
        ? LanguageStatusSeverity.Error
        : status.verdict === 'tight'
          ? LanguageStatusSeverity.Warning
          : LanguageStatusSeverity.Information;
    item.command =
      status.verdict === 'unknown'
        ? {
            title: 'Supply Missing Facts',
            tooltip: status.detail,
            command: SUPPLY_COMMAND,
            arguments: [document.uri],
          }
        : {
            title: 'Show Breakdown',
            tooltip: status.detail,
            command: ESTIMATE_COMMAND,
            arguments: [document.uri],
          };
    if (version < document.version && server.state === 'running') {
      item.busy = true;
      busyUntil = setTimeout(() => {
        item.busy = false;
      }, BUSY_LIMIT_MS);
    }
  }

  update();
  return Disposable.from(
    item,
    new Disposable(() => clearTimeout(busyUntil)),
    server.onStatus((status) => {
      known.set(status.uri, status);
      update();
    }),
    server.onState((state) => {
      if (state !== 'running') {
        known.clear();
      }
      update();
    }),
    window.onDidChangeActiveTextEditor(update),
    workspace.onDidChangeTextDocument(({ document }) => {
      if (document === window.activeTextEditor?.document && mayBeConfig(document)) {
        update();
      }
    }),
    workspace.onDidCloseTextDocument((document) => {
      known.delete(document.uri.toString());
    }),
  );
}
