import {
  CodeLensRefreshRequest,
  type Connection,
  DidChangeConfigurationNotification,
  DidChangeWatchedFilesNotification,
  type InitializeParams,
  InlayHintRefreshRequest,
  MarkupKind,
} from 'vscode-languageserver';
import type { InitializationOptions } from '../features/protocol';
import type { WorkspaceOptionsOfClient } from '../features/workspace-protocol';
import type { ClientSupport } from './convert';
import { SECTION } from './settings';

/** Files whose change on disk may change an analysis. */
const WATCHED_FILES =
  '{*.json,*.jsonc,*.yaml,*.yml,*.toml,*.flags,*.sh,*.bash,*.slurm,*.sbatch,*.md,*.markdown,*.mk,Makefile,makefile,GNUmakefile}';

/** What the editor can do, read once from `initialize`. */
export interface Client {
  readonly folders: readonly string[];
  readonly support: ClientSupport;
  readonly pullsSettings: boolean;
  /** The editor asks for problems, and can be asked to ask again. */
  readonly pullsProblems: boolean;
  /** Ways to count characters that the editor names; empty where it names none. */
  readonly positionEncodings: readonly string[];
  /** Requests by which the server has the editor ask again. */
  readonly refreshes: readonly string[];
  /** Language of the editor's own texts. */
  readonly language: string | undefined;
  /** The editor's side implements the commands of `protocol.ts`: our own extension states whether it is trusted. */
  readonly hasCommands: boolean;
  readonly trusted: boolean;
  readonly versionedEdits: boolean;
  readonly createsFiles: boolean;
  readonly snippetEdits: boolean;
  /** The editor asks for an action's edits when it is about to be carried out. */
  readonly resolvesActions: boolean;
  /** The editor reads files of other schemes than `file:` for us. */
  readonly readsFiles: boolean;
  /** Another extension completes YAML documents from our schemas. */
  readonly schemasServed: boolean;
  /** Roots of the runs that files are shown in, by file. */
  readonly chosenRuns: readonly (readonly [uri: string, root: string])[];
  register(connection: Connection, onFolders: () => Promise<void>): Promise<void>;
  /** Has the editor watch the files of folders that lie outside of the workspace; undefined where it cannot. */
  readonly watch: ((connection: Connection, folders: readonly string[]) => Promise<void>) | undefined;
}

export function readClient(params: InitializeParams | undefined): Client {
  const { workspace, textDocument, general } = params?.capabilities ?? {};
  const options = (params?.initializationOptions ?? {}) as InitializationOptions & WorkspaceOptionsOfClient;
  const edit = workspace?.workspaceEdit;
  const published = textDocument?.publishDiagnostics;
  const watched = workspace?.didChangeWatchedFiles;
  return {
    folders: foldersOf(params),
    support: {
      related: published?.relatedInformation === true,
      codeDescription: published?.codeDescriptionSupport === true,
      tags: published?.tagSupport !== undefined,
      labelDetails: textDocument?.completion?.completionItem?.labelDetailsSupport === true,
      markdown: textDocument?.hover?.contentFormat?.includes(MarkupKind.Markdown) ?? true,
      // Of other editors nobody knows.
      pages: typeof options.trusted === 'boolean',
    },
    pullsSettings: workspace?.configuration === true,
    // Our own side shows problems as of the last save, which only what is sent to it can follow.
    pullsProblems:
      textDocument?.diagnostic !== undefined &&
      workspace?.diagnostics?.refreshSupport === true &&
      typeof options.trusted !== 'boolean',
    positionEncodings: general?.positionEncodings ?? [],
    refreshes: [
      ...(workspace?.codeLens?.refreshSupport ? [CodeLensRefreshRequest.method] : []),
      ...(workspace?.inlayHint?.refreshSupport ? [InlayHintRefreshRequest.method] : []),
    ],
    language: options.language ?? params?.locale,
    hasCommands: typeof options.trusted === 'boolean',
    trusted: options.trusted === true,
    versionedEdits: edit?.documentChanges === true,
    createsFiles: edit?.documentChanges === true && edit.resourceOperations?.includes('create') === true,
    snippetEdits: edit?.documentChanges === true && edit.snippetEditSupport === true,
    resolvesActions:
      textDocument?.codeAction?.dataSupport === true &&
      textDocument.codeAction.resolveSupport?.properties.includes('edit') === true,
    readsFiles: options.readsFiles === true,
    schemasServed: options.schemasServed === true,
    chosenRuns: Object.entries(options.chosenRuns ?? {}).filter(([, root]) => typeof root === 'string'),
    register: async (connection, onFolders) => {
      if (workspace?.didChangeConfiguration?.dynamicRegistration) {
        await connection.client.register(DidChangeConfigurationNotification.type, { section: SECTION });
      }
      if (watched?.dynamicRegistration) {
        await connection.client.register(DidChangeWatchedFilesNotification.type, {
          watchers: [{ globPattern: `**/${WATCHED_FILES}` }],
        });
      }
      if (workspace?.workspaceFolders) {
        connection.workspace.onDidChangeWorkspaceFolders(() => void onFolders().catch(() => undefined));
      }
    },
    watch:
      watched?.dynamicRegistration === true && watched.relativePatternSupport === true
        ? async (connection, folders) => {
            // One level each, not what lies below: a root may hold a whole home folder.
            const watchers = folders.map((baseUri) => ({ globPattern: { baseUri, pattern: WATCHED_FILES } }));
            await connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
          }
        : undefined,
  };
}

function foldersOf(params: InitializeParams | undefined): readonly string[] {
  if (params?.workspaceFolders) {
    return params.workspaceFolders.map((folder) => folder.uri);
  }
  return params?.rootUri ? [params.rootUri] : [];
}
