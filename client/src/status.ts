import { commands, Disposable, type Uri, window, workspace } from 'vscode';
import type { StatusParams } from '../../server/src/shared/protocol';
import { AheadOfLenses } from './ahead-of-lenses';
import type { BreakdownPanels } from './breakdown-panels';
import { mayBeConfig } from './config-documents';
import type { LanguageServer } from './language-server';
import { LanguageStatus } from './language-status';
import { activeFile, cellOf } from './notebook-cells';
import { StatusBar } from './status-bar';
import { looksLike, type StatusView } from './status-view';

/** A spinner that nothing ends would lie; analyses take well under this. */
const BUSY_LIMIT_MS = 10_000;
/** Answers usually come sooner: a spinner that flashes with each key would only unsettle. */
const BUSY_DELAY_MS = 400;

/** The language status item `{}` and the status bar's item of the active config, and the key that menus ask for. */
export function showStatus(server: LanguageServer, panels: BreakdownPanels): Disposable {
  const shown = [new LanguageStatus(), new StatusBar()];
  const known = new Map<string, StatusParams>();
  let timer: NodeJS.Timeout | undefined;
  let drawn: StatusView | undefined;
  const lenses = new AheadOfLenses(server, () => update());
  const tellActive = contextKey('oomlint.configActive');

  /** In a panel the person looks at its file. */
  const present = () => activeFile() ?? panels.active?.uri;

  function show(busy: boolean): void {
    const file = present();
    const view = file
      ? viewOf(file, known.get(file.toString()), server, { busy, ahead: lenses.has(file) })
      : NOTHING;
    if (drawn && looksLike(view, drawn)) return;
    drawn = view;
    for (const item of shown) item.show(view);
  }

  function update(): void {
    const document = window.activeTextEditor?.document;
    const file = activeFile();
    const announced = file && known.get(file.toString());
    tellActive(announced?.status !== undefined);
    clearTimeout(timer);
    show(false);
    // Versions of cells say nothing about their notebook.
    const counts = document !== undefined && cellOf(document.uri) === undefined;
    const isOld = counts && announced?.status !== undefined && announced.version < document.version;
    if (isOld && server.state === 'running') {
      timer = setTimeout(() => {
        show(true);
        timer = setTimeout(() => show(false), BUSY_LIMIT_MS);
      }, BUSY_DELAY_MS);
    }
  }

  update();
  return Disposable.from(
    ...shown,
    lenses,
    new Disposable(() => clearTimeout(timer)),
    server.onStatus((status) => {
      lenses.follow(status, known.get(status.uri));
      known.set(status.uri, status);
      update();
    }),
    server.onState((state) => {
      if (state !== 'running') {
        known.clear();
      }
      update();
    }),
    panels.onDidChangeActive(update),
    window.onDidChangeActiveTextEditor(update),
    window.onDidChangeActiveNotebookEditor(update),
    workspace.onDidCloseNotebookDocument(({ uri }) => {
      known.delete(uri.toString());
    }),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('oomlint.statusBar')) {
        drawn = undefined;
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

const NOTHING: StatusView = { kind: 'none' };

function viewOf(
  file: Uri,
  announced: StatusParams | undefined,
  { state }: LanguageServer,
  now: { readonly busy: boolean; readonly ahead: boolean },
): StatusView {
  const document = window.activeTextEditor?.document;
  if (state === 'failed') return document && mayBeConfig(document) ? { kind: 'failed' } : NOTHING;
  return announced?.status ? { kind: 'config', file, document, status: announced.status, ...now } : NOTHING;
}

/** Sets a context key of the editor, where it changes. */
function contextKey(name: string): (value: boolean) => void {
  let last: boolean | undefined;
  return (value) => {
    if (value !== last) void commands.executeCommand('setContext', name, value);
    last = value;
  };
}
