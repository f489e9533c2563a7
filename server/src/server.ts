import { type Connection, TextDocuments } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { ChosenRuns } from './features/chosen-runs';
import { readClient } from './lsp/client';
import { onAgents } from './lsp/handlers/agents';
import { onCatalog } from './lsp/handlers/catalog';
import { onChangeCosts } from './lsp/handlers/change-costs';
import { onCodeActions } from './lsp/handlers/code-actions';
import { onCompletion } from './lsp/handlers/completion';
import type { Connected } from './lsp/handlers/connected';
import { onDiagnostics } from './lsp/handlers/diagnostics';
import { onDocumentLinks } from './lsp/handlers/document-links';
import { onDocuments } from './lsp/handlers/documents';
import { onInlayHints } from './lsp/handlers/hints';
import { onHover } from './lsp/handlers/hover';
import { onCodeLens } from './lsp/handlers/lenses';
import { onLifecycle } from './lsp/handlers/lifecycle';
import { onMeasured } from './lsp/handlers/measured';
import { onNote } from './lsp/handlers/notes';
import { onOutOfMemory } from './lsp/handlers/out-of-memory';
import { onPanel } from './lsp/handlers/panel';
import { onRuns } from './lsp/handlers/runs';
import type { MeasuredRuns } from './lsp/measured-runs';
import { OpenNotebooks } from './lsp/notebooks';
import { EditorHost } from './lsp/open-files';
import { OpenTexts } from './lsp/open-texts';
import { Runner } from './lsp/runner';
import type { Engine, Runtime } from './lsp/runtime';
import { Session } from './lsp/session';
import { SettingsCache, settingValues } from './lsp/settings';

/** Connects the engine to an editor. Wiring and nothing else: every feature is a function in `features/`. */
export function startServer(connection: Connection, runtime: Runtime): void {
  const documents = new OpenTexts(new TextDocuments(TextDocument), new OpenNotebooks());
  const runner = new Runner(connection.console);
  const settings = new SettingsCache(connection);
  const host = new EditorHost(documents, runtime.disk);
  const chosenRuns = new ChosenRuns();
  let loading: Promise<Engine> | undefined;
  let measured: Promise<MeasuredRuns> | undefined;
  const engine = () => {
    const preferences = {
      values: async (uri: string) => settingValues(await settings.of(uri)),
      isOpen: (uri: string) => documents.get(uri) !== undefined,
      chosenRun: (uri: string) => chosenRuns.of(uri),
      mayDetect: async (uri: string) => server.client.trusted && (await settings.of(uri)).detectGpu,
    };
    loading ??= runtime.createEngine(host, preferences, runtime.machine);
    return loading;
  };
  const session = new Session({ connection, documents, host, settings, runner, engine });
  const server: Connected = {
    connection,
    documents,
    host,
    settings,
    runner,
    session,
    chosenRuns,
    engine,
    measuredRuns: () => {
      measured ??= runtime.machine?.measuredRuns();
      return measured;
    },
    machine: runtime.machine,
    client: readClient(undefined),
    schemasServed: false,
  };

  onLifecycle(server, runtime.version);
  onDocuments(server);
  onDiagnostics(server);
  onHover(server);
  onCodeLens(server);
  onInlayHints(server);
  onCompletion(server);
  onDocumentLinks(server);
  onCodeActions(server);
  onPanel(server);
  onChangeCosts(server);
  onCatalog(server);
  onNote(server);
  onOutOfMemory(server);
  onRuns(server);
  onMeasured(server);
  onAgents(server);

  documents.files.listen(connection);
  connection.listen();
}
