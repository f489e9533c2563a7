import {
  CodeLens,
  commands,
  Disposable,
  env,
  Hover,
  l10n,
  languages,
  MarkdownString,
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
} from '../../server/src/shared/protocol';
import { mayBeConfig } from './config-documents';
import type { LanguageServer } from './language-server';

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
        return card && new Hover(new MarkdownString(`**${card.title}**\n\n${card.markdown}`));
      },
    }),
  );
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

/** What is said of a document, asked once for each of its versions. */
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
  const { text, folder, line } = await asked(target);
  const active = window.activeTextEditor?.document;
  const atHand = active && mayBeConfig(active) ? active.uri.toString() : undefined;
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
