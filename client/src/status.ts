import { commands, Disposable, type TextDocument, window, workspace } from 'vscode';
import type { StatusParams } from '../../server/src/shared/protocol';
import { mayBeConfig } from './config-documents';
import type { LanguageServer } from './language-server';
import { LanguageStatus } from './language-status';
import { StatusBar } from './status-bar';
import type { StatusView } from './status-view';

/** A spinner that nothing ends would lie; analyses take well under this. */
const BUSY_LIMIT_MS = 10_000;
/** Answers usually come sooner: a spinner that flashes with each key would only unsettle. */
const BUSY_DELAY_MS = 400;

/** The language status item `{}` and the status bar's item of the active config, and the key that menus ask for. */
export function showStatus(server: LanguageServer): Disposable {
  const shown = [new LanguageStatus(), new StatusBar()];
  const known = new Map<string, StatusParams>();
  let timer: NodeJS.Timeout | undefined;

  function viewOf(document: TextDocument | undefined, busy: boolean): StatusView {
    if (document === undefined) {
      return { kind: 'none' };
    }
    const told = known.get(document.uri.toString());
    if (server.state === 'failed') {
      return mayBeConfig(document) ? { kind: 'failed' } : { kind: 'none' };
    }
    return told?.status ? { kind: 'config', document, status: told.status, busy } : { kind: 'none' };
  }

  function show(busy: boolean): void {
    const view = viewOf(window.activeTextEditor?.document, busy);
    for (const item of shown) item.show(view);
  }

  function update(): void {
    const document = window.activeTextEditor?.document;
    const told = document && known.get(document.uri.toString());
    void commands.executeCommand('setContext', 'oomlint.configActive', told?.status !== undefined);
    clearTimeout(timer);
    show(false);
    if (document && told?.status && told.version < document.version && server.state === 'running') {
      timer = setTimeout(() => {
        show(true);
        timer = setTimeout(() => show(false), BUSY_LIMIT_MS);
      }, BUSY_DELAY_MS);
    }
  }

  update();
  return Disposable.from(
    ...shown,
    new Disposable(() => clearTimeout(timer)),
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
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('oomlint.statusBar')) {
        update();
      }
    }),
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
