import {
  CodeActionKind,
  type InitializeParams,
  type InitializeResult,
  PositionEncodingKind,
  TextDocumentSyncKind,
} from 'vscode-languageserver';
import { speakLanguage } from '../../wording/language';
import { type Client, readClient } from '../client';
import { FoldersAbove } from '../folders-above';
import { RemoteFiles } from '../remote-files';
import { WatchedFiles } from '../watched-files';
import { TRIGGERS } from './completion';
import type { Connected } from './connected';

/** What is offered to every editor. */
const CAPABILITIES: InitializeResult['capabilities'] = {
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
  hoverProvider: true,
  codeLensProvider: { resolveProvider: true },
  inlayHintProvider: { resolveProvider: true },
  documentLinkProvider: { resolveProvider: false },
  completionProvider: { resolveProvider: false, triggerCharacters: TRIGGERS },
  codeActionProvider: {
    codeActionKinds: [
      CodeActionKind.QuickFix,
      `${CodeActionKind.SourceFixAll}.oomlint`,
      CodeActionKind.RefactorRewrite,
    ],
    resolveProvider: true,
  },
  notebookDocumentSync: {
    notebookSelector: [{ notebook: 'jupyter-notebook', cells: [{ language: 'python' }] }],
    save: true,
  },
  workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
};

/** What is offered to one editor. */
function capabilitiesFor(client: Client): InitializeResult['capabilities'] {
  return {
    ...CAPABILITIES,
    // Every editor has to take this one, and positions of all texts are kept in it.
    ...(client.positionEncodings.length > 0 ? { positionEncoding: PositionEncodingKind.UTF16 } : {}),
    ...(client.pullsProblems
      ? {
          diagnosticProvider: {
            identifier: 'oomlint',
            interFileDependencies: true,
            workspaceDiagnostics: false,
          },
        }
      : {}),
  };
}

/** From `initialize` to `shutdown`: what the editor can do, its folders, its settings, and files that change on disk. */
export function onLifecycle(server: Connected, version: string): void {
  const { connection, host, runner, session, settings, chosenRuns } = server;
  const watched = new WatchedFiles(session, runner);
  const above = new FoldersAbove(runner, async (folders) => server.client.watch?.(connection, folders));
  host.lookedAbove = (folder) => above.lookedInto(folder);
  connection.onInitialize(async (params: InitializeParams): Promise<InitializeResult> => {
    const client = readClient(params);
    server.client = client;
    await speakLanguage(client.language);
    // Editors without our own side have no such question.
    host.trusted = client.trusted || !client.hasCommands;
    await host.open(client.folders);
    host.remote = client.readsFiles ? new RemoteFiles(connection, () => host.opened) : undefined;
    for (const [uri, root] of client.chosenRuns) chosenRuns.choose(uri, root);
    server.schemasServed = client.schemasServed;
    session.support = client.support;
    session.refreshes = client.refreshes;
    session.pullsProblems = client.pullsProblems;
    if (client.pullsSettings) settings.usePull();
    return { serverInfo: { name: 'Oomlint', version }, capabilities: capabilitiesFor(client) };
  });
  const onFolders = async () => {
    host.remote?.forget();
    const folders = await connection.workspace.getWorkspaceFolders();
    await host.open((folders ?? []).map((folder) => folder.uri));
    await session.refreshAll();
  };
  connection.onInitialized(() => {
    runner.background('Registering for changes', () => server.client.register(connection, () => onFolders()));
  });
  connection.onDidChangeConfiguration((change) => {
    settings.changed(change.settings);
    runner.background('Applying settings', () => session.refreshAll());
  });
  connection.onDidChangeWatchedFiles(({ changes }) => {
    host.remote?.forget();
    watched.changed(changes);
  });
  connection.onShutdown(() => {
    runner.shutDown();
    watched.dispose();
    above.dispose();
    session.dispose();
  });
}
