import {
  type DecorationOptions,
  Disposable,
  l10n,
  MarkdownString,
  Range,
  type TextDocument,
  type TextEditor,
  ThemeColor,
  window,
  workspace,
} from 'vscode';
import type { ChangeCost, ChangeCostParams, CostAtKey } from '../../../server/src/shared/protocol';
import { isProjectFile } from '../config-documents';
import type { LanguageServer } from '../language-server';
import { type Diff, diffsInView } from './diffs-in-view';
import { COMPARE_WITH_HEAD_COMMAND } from './head-lens';

/** Pause after the last change before a diff is estimated again. */
const REST_MS = 250;

/** Half of a diff ends soon behind a long key: less than a letter's distance, and the size of a hint. Editors take no size but as CSS. */
const SMALL = { margin: '0 0 0 0.5ch', textDecoration: 'none; font-size: 0.85em' };

/** In diffs of training configs: behind each line that changes the run, what the change costs. */
export function showsCostInDiffs(server: LanguageServer): Disposable {
  const cost = window.createTextEditorDecorationType({ after: SMALL });
  let timer: NodeJS.Timeout | undefined;
  let drawn = new Set<TextEditor>();
  /** Counts rounds; an answer to any but the latest is stale. */
  let round = 0;
  const draw = async () => {
    const present = ++round;
    const diffs = diffsInView().filter(isEnabled);
    const found = await Promise.all(
      diffs.map(async (diff) => ({ diff, cost: await costOf(diff, server).catch(() => null) })),
    );
    if (present !== round) return;
    const editors = new Map<TextEditor, DecorationOptions[]>();
    for (const { diff, cost: change } of found)
      for (const at of change?.at ?? [])
        for (const editor of editorsOf(at.removed ? diff.original : diff.modified))
          editors.set(editor, [
            ...(editors.get(editor) ?? []),
            decoration(at, change?.verdict, diff, editor),
          ]);
    for (const editor of drawn) if (!editors.has(editor)) editor.setDecorations(cost, []);
    for (const [editor, options] of editors) editor.setDecorations(cost, options);
    drawn = new Set(editors.keys());
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void draw(), REST_MS);
  };
  const isShown = (document: TextDocument) =>
    diffsInView().some(({ original, modified }) => original === document || modified === document);
  later();
  return Disposable.from(
    cost,
    new Disposable(() => clearTimeout(timer)),
    window.onDidChangeVisibleTextEditors(later),
    window.tabGroups.onDidChangeTabs(later),
    workspace.onDidChangeTextDocument(({ document }) => isShown(document) && later()),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration('oomlint.diffs') && later()),
    server.onState((state) => state === 'running' && later()),
    server.onStatus(({ uri }) => diffsInView().some(({ file }) => file.toString() === uri) && later()),
  );
}

const editorsOf = (document: TextDocument): readonly TextEditor[] =>
  window.visibleTextEditors.filter((editor) => editor.document === document);

function isEnabled({ file }: Diff): boolean {
  return workspace.getConfiguration('oomlint', file).get<boolean>('diffs.enabled') ?? true;
}

async function costOf(
  { original, modified, file }: Diff,
  server: LanguageServer,
): Promise<ChangeCost | null> {
  if (server.state !== 'running') return null;
  const isPresent = modified.uri.toString() === file.toString();
  const params: ChangeCostParams = {
    uri: file.toString(),
    before: original.getText(),
    ...(isPresent ? {} : { after: modified.getText() }),
  };
  return server.changeCost(params);
}

function decoration(
  { range: { start }, bytes, label, lines }: CostAtKey,
  verdict: ChangeCost['verdict'] | undefined,
  { modified, file }: Diff,
  { document }: TextEditor,
): DecorationOptions {
  const { end } = document.lineAt(Math.min(start.line, document.lineCount - 1)).range;
  const more = new MarkdownString();
  for (const [at, line] of lines.entries()) more.appendText(at === 0 ? line : `\n\n${line}`);
  if (modified.uri.toString() === file.toString() && !isProjectFile(file)) {
    const target = encodeURIComponent(JSON.stringify([{ uri: file.toString() }]));
    more.appendMarkdown(
      `\n\n[${l10n.t('Compare with HEAD')}](command:${COMPARE_WITH_HEAD_COMMAND}?${target})`,
    );
    more.isTrusted = { enabledCommands: [COMPARE_WITH_HEAD_COMMAND] };
  }
  return {
    // The whole line: what stands behind it comes before a hint at its end.
    range: new Range(end.with({ character: 0 }), end),
    hoverMessage: more,
    renderOptions: { after: { contentText: label, color: colorOf(bytes, verdict) } },
  };
}

/** What lowers the peak is well; what raises it is as the run comes out. */
function colorOf(bytes: number, verdict: ChangeCost['verdict'] | undefined): ThemeColor {
  if (bytes < 0) return new ThemeColor('oomlint.verdict.fits');
  return verdict === 'exceeds' || verdict === 'tight'
    ? new ThemeColor(`oomlint.verdict.${verdict}`)
    : new ThemeColor('editorCodeLens.foreground');
}
