import {
  type CancellationToken,
  CodeActionKind,
  type CodeLens,
  type Connection,
  type InitializeParams,
  type InitializeResult,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { CATALOG_REQUEST, type Catalog, type CatalogParams } from './features/catalog-protocol';
import { codeLens } from './features/code-lens';
import { documentLinks } from './features/document-links';
import { hover } from './features/hover';
import { withBreakdown } from './features/hover-breakdown';
import { inlayHints } from './features/inlay-hints';
import {
  APPLY_REQUEST,
  type Applied,
  type ApplyParams,
  BREAKDOWN_REQUEST,
  type Breakdown,
  type BreakdownParams,
  COMPARE_REQUEST,
  type CompareParams,
  type Comparison,
  DETAIL_REQUEST,
  type DetailParams,
  type Opened,
  TRY_REQUEST,
  type Tried,
  type TryParams,
} from './features/protocol';
import { contains } from './features/ranges';
import { runLens } from './features/run-lens';
import { type Found, SEARCH_REQUEST, type SearchParams } from './features/search-protocol';
import {
  CHOSEN_RUN_NOTIFICATION,
  type ChosenRunParams,
  RUNS_REQUEST,
  type Runs,
  type RunsParams,
  SCHEMAS_NOTIFICATION,
  type SchemasParams,
} from './features/workspace-protocol';
import { readClient } from './lsp/client';
import {
  type HintData,
  toBatchLens,
  toCodeLens,
  toCompletionItem,
  toDocumentLink,
  toHover,
  toInlayHint,
  toMarkup,
} from './lsp/convert';
import { speakLanguage } from './lsp/language';
import { EditorHost } from './lsp/open-files';
import { RemoteFiles } from './lsp/remote-files';
import { Runner } from './lsp/runner';
import type { Engine, Runtime } from './lsp/runtime';
import { Session } from './lsp/session';
import { SettingsCache, settingValues } from './lsp/settings';
import { WatchedFiles } from './lsp/watched-files';
import { isFieldPath } from './run/fields';
import { say } from './wording/say';
import { canonicalUri } from './workspace/uri';

/** Characters after which editors ask for completions by themselves. */
const TRIGGERS = ['"', ' ', '-', '=', '/', '[', '.'];

/** What a lens may take beyond its own answer, so that what belongs on the same line comes with it. Milliseconds. */
const LENS_BUDGET_MS = 10;

/** Connects the engine to an editor. Wiring and nothing else: every feature is a function in `features/`. */
export function startServer(connection: Connection, runtime: Runtime): void {
  const documents = new TextDocuments(TextDocument);
  const runner = new Runner(connection.console);
  const settings = new SettingsCache(connection);
  const host = new EditorHost(documents, runtime.disk);
  let client = readClient(undefined);
  /** Roots of the runs that files are shown in. */
  const chosenRuns = new Map<string, string>();
  let schemasServed = false;
  let loading: Promise<Engine> | undefined;
  const engine = () => {
    loading ??= runtime.createEngine(host, {
      values: async (uri) => settingValues(await settings.of(uri)),
      chosenRun: (uri) => chosenRuns.get(canonicalUri(uri)),
      mayDetect: async (uri) => client.trusted && (await settings.of(uri)).detectGpu,
    });
    return loading;
  };
  const session = new Session({ connection, documents, host, settings, runner, engine });
  const watched = new WatchedFiles(session, runner);

  connection.onInitialize(async (params: InitializeParams): Promise<InitializeResult> => {
    client = readClient(params);
    await speakLanguage(client.language);
    host.folders = client.folders;
    host.remote = client.readsFiles ? new RemoteFiles(connection) : undefined;
    for (const [uri, root] of client.chosenRuns) chosenRuns.set(canonicalUri(uri), canonicalUri(root));
    schemasServed = client.schemasServed;
    session.support = client.support;
    session.refreshes = client.refreshes;
    if (client.pullsSettings) {
      settings.usePull();
    }
    return {
      serverInfo: { name: 'Oomlint', version: runtime.version },
      capabilities: {
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
        hoverProvider: true,
        codeLensProvider: { resolveProvider: true },
        inlayHintProvider: { resolveProvider: true },
        documentLinkProvider: { resolveProvider: false },
        completionProvider: { resolveProvider: false, triggerCharacters: TRIGGERS },
        codeActionProvider: {
          codeActionKinds: [CodeActionKind.QuickFix, `${CodeActionKind.SourceFixAll}.oomlint`],
          resolveProvider: true,
        },
        workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      },
    };
  });

  connection.onInitialized(() => {
    runner.background('Registering for changes', () => client.register(connection, () => onFolders()));
  });
  const onFolders = async () => {
    const folders = await connection.workspace.getWorkspaceFolders();
    host.folders = (folders ?? []).map((folder) => folder.uri);
    await session.refreshAll();
  };
  connection.onDidChangeConfiguration((change) => {
    settings.changed(change.settings);
    runner.background('Applying settings', () => session.refreshAll());
  });
  connection.onDidChangeWatchedFiles(({ changes }) => watched.changed(changes));

  const opening = new WeakSet<TextDocument>();
  documents.onDidOpen(({ document }) => {
    opening.add(document);
    session.opened(document);
  });
  // Fires for the opening as well, right after `onDidOpen`.
  documents.onDidChangeContent(({ document }) => session.changed(document, opening.delete(document)));
  documents.onDidSave(({ document }) => runner.background('Saving', () => session.saved(document.uri)));
  documents.onDidClose(({ document }) => runner.background('Closing', () => session.closed(document.uri)));

  /** Answers about the text as it was when asked. */
  const about = <T>(
    name: string,
    fallback: T,
    { textDocument: { uri } }: { textDocument: { uri: string } },
    token: CancellationToken,
    task: (uri: string) => Promise<T>,
  ) => {
    const version = documents.get(uri)?.version;
    const isOutdated = () => documents.get(uri)?.version !== version;
    return runner.request(name, fallback, token, () => task(uri), isOutdated);
  };
  connection.onHover((params, token) =>
    about('Hover', null, params, token, async (uri) => {
      const analysis = await session.analysis(uri);
      const { whatIf } = await engine();
      const text = analysis && (await settings.of(uri)).hover && hover(analysis, params.position, whatIf);
      if (!analysis || !text) return null;
      return toHover(client.hasCommands ? withBreakdown(text, analysis) : text, client.support);
    }),
  );
  connection.onCodeLens((params, token) =>
    about('Code lens', [], params, token, async (uri) => {
      const analysis = await session.analysisToDraw(uri, 'lenses');
      if (!analysis || !(await settings.of(uri)).codeLens) return [];
      const found = [codeLens(analysis), runLens(analysis)].flatMap((lens) =>
        lens ? [toCodeLens(lens)] : [],
      );
      const [first] = found;
      if (!first || !analysis.estimate) return found;
      // What is ready now is drawn at once; what takes longer is worked out when it is about to be shown.
      const end = performance.now() + LENS_BUDGET_MS;
      const title = (await engine()).batchLens(analysis, () => performance.now() > end);
      const later: CodeLens = { range: first.range, data: uri };
      return [...found, title === undefined ? later : toBatchLens(later, title)];
    }),
  );
  connection.onCodeLensResolve((lens, token) => {
    const uri = String(lens.data);
    // The text may have become one without an estimate since: what is clicked leads to the panel all the same.
    const titled = (title = say('Open the memory breakdown')) => toBatchLens(lens, title);
    return runner.request<CodeLens>('Code lens', titled(), token, async () => {
      const analysis = await session.analysis(uri);
      return titled(analysis && (await engine()).batchLens(analysis));
    });
  });
  connection.languages.inlayHint.on((params, token) =>
    about('Inlay hints', [], params, token, async (uri) => {
      const version = documents.get(uri)?.version;
      const analysis = await session.analysisToDraw(uri, 'hints');
      if (!analysis || version === undefined) return [];
      const hints = inlayHints(analysis, (await settings.of(uri)).inlayHints);
      return hints
        .filter(({ position }) => contains(params.range, position))
        .map((hint) => toInlayHint(hint, { uri, version, fields: hint.fields }, client.hasCommands));
    }),
  );
  connection.languages.inlayHint.resolve((hint, token) =>
    runner.request('Inlay hint', hint, token, async () => {
      const { uri, version, fields } = hint.data as HintData;
      // A hint of an older text gets no words of the newer one: the editor asks for hints anew by itself.
      const analysis = documents.get(uri)?.version === version ? await session.analysis(uri) : undefined;
      if (!analysis) return hint;
      const { hintTooltip } = await import('./features/hint-tooltip');
      const tooltip = toMarkup(hintTooltip(analysis, fields.filter(isFieldPath)), client.support);
      return { ...hint, tooltip };
    }),
  );
  connection.onCompletion((params, token) =>
    about('Completion', [], params, token, async (uri) => {
      const document = documents.get(uri);
      if (!document || !(await session.mayBeConfig(uri))) return [];
      const found = await (await engine()).completions(
        uri,
        document.getText(),
        params.position,
        schemasServed,
      );
      // A blank opens values, never the list of all keys.
      const asked =
        params.context?.triggerCharacter === ' ' ? found.filter(({ kind }) => kind === 'value') : found;
      return asked.map((entry) => toCompletionItem(entry, client.support));
    }),
  );
  connection.onDocumentLinks((params, token) =>
    about('Document links', [], params, token, async (uri) => {
      const analysis = await session.analysis(uri);
      return analysis ? documentLinks(analysis).map(toDocumentLink) : [];
    }),
  );
  connection.onCodeAction((params, token) =>
    about('Code actions', [], params, token, async (uri) => {
      const document = documents.get(uri);
      const analysis = await session.analysis(uri);
      if (!analysis || !document) {
        return [];
      }
      const { actionsAt } = await import('./lsp/actions');
      return actionsAt(analysis, params, { document, host, client }, await engine());
    }),
  );
  connection.onCodeActionResolve((action, token) =>
    runner.request('Code action', action, token, async () => {
      const { isActionData, resolvedAction } = await import('./lsp/actions');
      const { data } = action;
      const document = isActionData(data) ? documents.get(data.uri) : undefined;
      const analysis = document && (await session.analysis(document.uri));
      if (!document || !analysis || document.version !== data.version) return action;
      return resolvedAction(action, analysis, { document, client }, await engine());
    }),
  );
  connection.onRequest(BREAKDOWN_REQUEST, (params: BreakdownParams, token: CancellationToken) =>
    runner.request<Breakdown | null>('Breakdown', null, token, async () => {
      const version = documents.get(params.uri)?.version;
      const analysis = await session.analysisOfFile(params.uri);
      return analysis ? (await engine()).breakdown(analysis, version) : null;
    }),
  );

  connection.onRequest(CATALOG_REQUEST, (_: CatalogParams, token: CancellationToken) =>
    runner.request<Catalog | null>('Catalog', null, token, async () => {
      const { readCatalog } = await import('./lsp/catalog');
      const [folder = ''] = host.folders;
      return readCatalog(host, client.trusted && (await settings.of(folder)).detectGpu);
    }),
  );
  connection.onRequest(DETAIL_REQUEST, (params: DetailParams, token: CancellationToken) =>
    runner.request<Opened | null>('Detail', null, token, async () => {
      const version = documents.get(params.uri)?.version;
      const analysis = await session.analysisOfFile(params.uri);
      return analysis ? (await engine()).opened(analysis, params.sample, version, params.turned) : null;
    }),
  );

  connection.onRequest<Tried | null, void>(TRY_REQUEST, (params: TryParams, token: CancellationToken) =>
    runner.request<Tried | null>('Trying', null, token, async () => {
      const version = documents.get(params.uri)?.version;
      const analysis = await session.analysisOfFile(params.uri);
      return analysis ? (await engine()).tried(analysis, params.turned, version) : null;
    }),
  );
  connection.onRequest(APPLY_REQUEST, (params: ApplyParams, token: CancellationToken) =>
    runner.request<Applied | null>('Applying', null, token, async () => {
      const version = documents.get(params.uri)?.version ?? null;
      const analysis = await session.analysisOfFile(params.uri);
      if (!analysis) return null;
      const { appliedTo } = await import('./lsp/actions');
      const document = { uri: params.uri, version };
      return appliedTo(analysis, params.values, await engine(), { document, host, client });
    }),
  );
  connection.onRequest<Found | null, void>(SEARCH_REQUEST, (params: SearchParams, token: CancellationToken) =>
    runner.request<Found | null>('Search', null, token, async () => {
      const analysis = await session.analysisOfFile(params.uri);
      if (!analysis) return null;
      const { searchRuns } = await import('./lsp/search');
      return searchRuns(analysis, params, await engine(), connection, token);
    }),
  );
  connection.onRequest(COMPARE_REQUEST, (params: CompareParams, token: CancellationToken) =>
    runner.request<Comparison | null>('Comparing', null, token, async () => {
      const { other } = params;
      const own = await engine();
      const after = await session.analysisOfFile(params.uri);
      const before =
        'uri' in other
          ? await session.analysisOfFile(other.uri)
          : await own.analyzeAs(params.uri, other.text);
      return before && after ? own.compared(before, after) : null;
    }),
  );

  connection.onRequest<Runs | null, void>(RUNS_REQUEST, (params: RunsParams, token: CancellationToken) =>
    runner.request<Runs | null>('Runs', null, token, async () => {
      const analysis = await session.analysisOfFile(params.uri);
      return analysis ? { runs: analysis.runs ?? [], shown: analysis.run } : null;
    }),
  );
  connection.onNotification(CHOSEN_RUN_NOTIFICATION, ({ uri, root }: ChosenRunParams) => {
    if (root === undefined) chosenRuns.delete(canonicalUri(uri));
    else chosenRuns.set(canonicalUri(uri), canonicalUri(root));
    runner.background('Choosing a run', () => session.again(uri));
  });
  connection.onNotification(SCHEMAS_NOTIFICATION, ({ served }: SchemasParams) => {
    schemasServed = served === true;
  });

  connection.onShutdown(() => {
    runner.shutDown();
    watched.dispose();
    session.dispose();
  });
  documents.listen(connection);
  connection.listen();
}
