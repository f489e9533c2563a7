import {
  CodeAction,
  CodeActionKind,
  CodeLens,
  commands,
  Disposable,
  env,
  Hover,
  l10n,
  languages,
  MarkdownString,
  type NotebookCell,
  NotebookCellStatusBarAlignment,
  NotebookCellStatusBarItem,
  notebooks,
  Range,
  type TextDocument,
  Uri,
  window,
  workspace,
} from 'vscode';
import {
  EXPLAIN_OOM_COMMAND,
  type ExplainedOom,
  type ExplainOomArguments,
  type OomRelief,
} from '../../server/src/shared/protocol';
import { unbrokenFigures } from '../../server/src/shared/words';
import { mayBeConfig } from './config-documents';
import type { LanguageServer } from './language-server';
import { NOTEBOOK_TYPE } from './notebook-cells';
import { watchesLaunches } from './terminal-launches';

/** Where an explanation is shown. */
const SCHEME = 'oomlint-explanation';
/** Files that programs write what they say into. */
const LOGS = { pattern: '**/*.{log,txt,out,err}' };
/** Longer texts are for the command line, which reads them as a stream. */
const LONGEST = 20 * 2 ** 20;
/** Words of which every message has one: other documents are not asked about. */
const WORTH =
  /out of memory|\bOOM\b|oom_kill|Cannot allocate memory|RESOURCE_EXHAUSTED|exitcode: -9|return code = -9/i;

/** `Oomlint: Explain Out-of-Memory...`, and what leads to it from a log: a line above each message, and its hover. */
export function explainsOutOfMemory(server: LanguageServer): Disposable {
  const shown = new Map<string, string>();
  return Disposable.from(
    commands.registerCommand(EXPLAIN_OOM_COMMAND, (target?: unknown) => explain(server, shown, target)),
    workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => shown.get(uri.toString()) ?? '',
    }),
    languages.registerCodeLensProvider(LOGS, {
      provideCodeLenses: async (document) => {
        if (!isWorth(document)) return [];
        const { messages } = await server.explainOom({ text: document.getText(), titlesOnly: true });
        const uri = document.uri.toString();
        return messages.map(({ line, title }) => {
          const argument: ExplainOomArguments = { uri, line };
          const words = l10n.t('{0}: explain', title);
          return new CodeLens(new Range(line, 0, line, 0), {
            title: words,
            command: EXPLAIN_OOM_COMMAND,
            arguments: [argument],
          });
        });
      },
    }),
    languages.registerHoverProvider(LOGS, {
      provideHover: async (document, position) => {
        if (!WORTH.test(document.lineAt(position.line).text) || document.getText().length > LONGEST)
          return undefined;
        const { messages } = await ofDocument(server, document);
        const card = messages.find(({ line }) => line === position.line);
        return (
          card && new Hover(new MarkdownString(unbrokenFigures(`**${card.title}**\n\n${card.markdown}`)))
        );
      },
    }),
    languages.registerCodeActionsProvider(
      LOGS,
      {
        provideCodeActions: async (document, range) => {
          const { line } = range.start;
          if (!WORTH.test(document.lineAt(line).text) || document.getText().length > LONGEST) return [];
          const { messages, config } = await ofDocument(server, document);
          const card = messages.find((message) => message.line === line);
          return config === undefined ? [] : (card?.reliefs ?? []).map((relief) => actionOf(relief, config));
        },
      },
      { providedCodeActionKinds: [CodeActionKind.QuickFix] },
    ),
    commands.registerCommand(RELIEF_COMMAND, (config: string, relief: OomRelief) =>
      relieve(server, config, relief),
    ),
    commands.registerCommand(TERMINAL_COMMAND, async () => {
      const text = await terminalSelection();
      await explainText(server, shown, { text });
    }),
    watchesLaunches(
      (text) => WORTH.test(text),
      async (text) => (await server.explainOom({ text, titlesOnly: true })).messages[0]?.title,
      ({ text, folder }) => explainText(server, shown, { text, folder: folder?.toString() }),
    ),
    notebooks.registerNotebookCellStatusBarItemProvider(NOTEBOOK_TYPE, {
      provideCellStatusBarItems: (cell) => (WORTH.test(outputOf(cell)) ? [itemOf(cell)] : []),
    }),
    commands.registerCommand(CELL_COMMAND, (cell: NotebookCell) => {
      const { uri } = cell.notebook;
      const isSaved = uri.scheme === 'file';
      const folder = isSaved ? Uri.joinPath(uri, '..').toString() : undefined;
      const config = isSaved ? uri.toString() : undefined;
      return explainText(server, shown, { text: outputOf(cell), folder, config });
    }),
  );
}

/** Commands of this side alone, for what it offers itself. */
const RELIEF_COMMAND = 'oomlint.relieveOutOfMemory';
const CELL_COMMAND = 'oomlint.explainOutputOfCell';
const TERMINAL_COMMAND = 'oomlint.explainTerminalSelection';

function actionOf(relief: OomRelief, config: string): CodeAction {
  const file = workspace.asRelativePath(Uri.parse(config, true));
  const action = new CodeAction(l10n.t('{0} (in {1})', relief.title, file), CodeActionKind.QuickFix);
  action.command = { title: relief.title, command: RELIEF_COMMAND, arguments: [config, relief] };
  return action;
}

/** Writes a change into the config of the run, and shows it. */
async function relieve(server: LanguageServer, config: string, { values, fix }: OomRelief): Promise<void> {
  const { left = [], byHand = [] } = await server.apply(config, values, fix);
  await window.showTextDocument(Uri.parse(config, true));
  const remarks = [...left, ...byHand];
  // Not awaited: it stays for as long as nobody looks at it.
  if (remarks.length > 0) void window.showInformationMessage(remarks.join(' '));
}

/** An editor gives no extension the selection of a terminal: it is copied, and the clipboard is put back. */
async function terminalSelection(): Promise<string> {
  const before = await env.clipboard.readText();
  await commands.executeCommand('workbench.action.terminal.copySelection');
  const text = await env.clipboard.readText();
  if (text !== before) await env.clipboard.writeText(before);
  return text;
}

/** What a cell printed, as text: its errors with their tracebacks, and what went to its streams. */
function outputOf({ outputs }: NotebookCell): string {
  const texts = outputs.flatMap(({ items }) => {
    const item =
      items.find(({ mime }) => mime === ERROR_MIME) ??
      items.find(({ mime }) => STREAM_MIMES.includes(mime) || mime === 'text/plain');
    if (!item || item.data.length > LONGEST) return [];
    const text = new TextDecoder().decode(item.data);
    return item.mime === ERROR_MIME ? errorText(text) : text;
  });
  return texts.join('\n');
}
const ERROR_MIME = 'application/vnd.code.notebook.error';
const STREAM_MIMES = ['application/vnd.code.notebook.stdout', 'application/vnd.code.notebook.stderr'];

function errorText(json: string): string {
  try {
    const { stack, name, message } = JSON.parse(json) as { stack?: string; name?: string; message?: string };
    return `${stack ?? ''}\n${name ?? ''}: ${message ?? ''}`;
  } catch {
    return json;
  }
}

function itemOf(cell: NotebookCell): NotebookCellStatusBarItem {
  const words = l10n.t('Explain Out-of-Memory');
  const item = new NotebookCellStatusBarItem(`$(bug) ${words}`, NotebookCellStatusBarAlignment.Left);
  item.command = { title: words, command: CELL_COMMAND, arguments: [cell] };
  item.accessibilityInformation = { label: `Oomlint: ${words}` };
  return item;
}

function isWorth(document: TextDocument): boolean {
  const text = document.getText();
  return text.length <= LONGEST && WORTH.test(text);
}

interface Known {
  readonly version: number;
  readonly answer: Promise<ExplainedOom>;
}
const answers = new WeakMap<TextDocument, Known>();

/** What is reported of a document, asked once for each of its versions. */
function ofDocument(server: LanguageServer, document: TextDocument): Promise<ExplainedOom> {
  const known = answers.get(document);
  if (known?.version === document.version) return known.answer;
  const folder = document.uri.scheme === 'file' ? Uri.joinPath(document.uri, '..').toString() : undefined;
  const answer = server.explainOom({ text: document.getText(), folder });
  answers.set(document, { version: document.version, answer });
  return answer;
}

interface Asked {
  readonly text: string;
  readonly folder?: string;
  readonly line?: number;
  readonly config?: string;
}

/** The message that the command is about: a lens's, a selection's, that of the log at hand, or the clipboard's. */
async function asked(target: unknown): Promise<Asked> {
  const named =
    typeof target === 'object' && target !== null && 'line' in target && 'uri' in target
      ? (target as ExplainOomArguments)
      : undefined;
  const uri = named ? Uri.parse(named.uri, true) : target instanceof Uri ? target : undefined;
  if (uri) {
    const document = await workspace.openTextDocument(uri);
    return { text: document.getText(), folder: Uri.joinPath(uri, '..').toString(), line: named?.line };
  }
  const editor = window.activeTextEditor;
  if (editor && !editor.selection.isEmpty) {
    const text = editor.document.getText(editor.selection);
    if (WORTH.test(text)) return { text, folder: folderOf(editor.document) };
  }
  if (editor && languages.match(LOGS, editor.document) > 0 && isWorth(editor.document))
    return { text: editor.document.getText(), folder: folderOf(editor.document) };
  return { text: await env.clipboard.readText(), folder: editor && folderOf(editor.document) };
}

function folderOf({ uri }: TextDocument): string | undefined {
  return uri.scheme === 'file' ? Uri.joinPath(uri, '..').toString() : undefined;
}

async function explain(server: LanguageServer, shown: Map<string, string>, target: unknown): Promise<void> {
  await explainText(server, shown, await asked(target));
}

async function explainText(
  server: LanguageServer,
  shown: Map<string, string>,
  { text, folder, line, config: named }: Asked,
): Promise<void> {
  const active = window.activeTextEditor?.document;
  const atHand = named ?? (active && mayBeConfig(active) ? active.uri.toString() : undefined);
  let found = await server.explainOom({ text, folder, config: atHand });
  if (found.messages.length === 0) {
    await window.showInformationMessage(
      l10n.t('No out-of-memory message was found: open a log, select one, or copy it from the terminal.'),
    );
    return;
  }
  if (found.config === undefined) {
    const config = await chooseConfig();
    if (config) found = await server.explainOom({ text, folder, config });
  }
  const chosen = found.messages.filter((message) => line === undefined || message.line === line);
  const cards = chosen.length > 0 ? chosen : found.messages;
  const uri = Uri.from({ scheme: SCHEME, path: `/${l10n.t('Out of Memory')}.md`, query: String(shown.size) });
  shown.set(uri.toString(), cards.map(({ title, markdown }) => `# ${title}\n\n${markdown}\n`).join('\n'));
  await commands.executeCommand('markdown.showPreview', uri);
  const { config } = found;
  const reliefs = cards.flatMap((card) => card.reliefs ?? []);
  // Not awaited: it stays for as long as nobody looks at it.
  if (config !== undefined && reliefs.length > 0) void offer(server, config, reliefs);
}

/** Leads from an explanation to the changes that would have made room. */
async function offer(server: LanguageServer, config: string, reliefs: readonly OomRelief[]): Promise<void> {
  const file = workspace.asRelativePath(Uri.parse(config, true));
  const show = l10n.t('Show Fixes...');
  const available = l10n.t('{0}: changes that would have made room are known.', file);
  if ((await window.showInformationMessage(available, show)) !== show) return;
  const items = reliefs.map((relief) => ({ label: relief.title, relief }));
  const picked = await window.showQuickPick(items, { title: l10n.t('What would make room, in {0}', file) });
  if (picked) await relieve(server, config, picked.relief);
}

/** The config that the run was started with, of those that are open; undefined where the person leaves it. */
async function chooseConfig(): Promise<string | undefined> {
  const open = workspace.textDocuments.filter(
    (document) => mayBeConfig(document) && document.languageId !== 'python',
  );
  if (open.length === 0) return undefined;
  const items = open.map(({ uri }) => ({ label: workspace.asRelativePath(uri), uri: uri.toString() }));
  const picked = await window.showQuickPick(items, {
    title: l10n.t('Which config was the run started with?'),
    placeHolder: l10n.t('Without one only the message itself is explained'),
  });
  return picked?.uri;
}
