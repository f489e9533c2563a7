import {
  Disposable,
  Range,
  type TextDocument,
  type TextEditorDecorationType,
  ThemeColor,
  window,
  workspace,
} from 'vscode';
import { isInDiffsAlone } from './compare/diffs-in-view';
import type { DrawnHints, LanguageServer } from './language-server';
import { verdictSign } from './verdict-sign';

/** Signs of verdicts whose hints are marked, with their colours: where a run fits, hints have the theme's own colour alone. */
const MARKED = { error: 'oomlint.verdict.exceeds', warning: 'oomlint.verdict.tight' } as const;

/** Drawn before a hint: VS Code colours all hints alike, so the verdict has a sign of its own. */
const MARK = '●';

/** Hints of one document as they were drawn last. */
interface Marks {
  readonly version: number;
  readonly lines: ReadonlySet<number>;
}

/** A sign in the colour of the verdict before each hint of a run that does not fit, or hardly. */
export function showsVerdictAtHints(server: LanguageServer): Disposable {
  const types = new Map<string, TextEditorDecorationType>(
    Object.entries(MARKED).map(([sign, color]) => [
      sign,
      window.createTextEditorDecorationType({
        after: {
          contentText: MARK,
          color: new ThemeColor(color),
          margin: '0 0.5ch 0 1ch',
        },
      }),
    ]),
  );
  const verdicts = new Map<string, ReturnType<typeof verdictSign>>();
  const marks = new Map<string, Marks>();
  const draw = (uri: string) => {
    const lines = [...(marks.get(uri)?.lines ?? [])];
    const verdict = verdicts.get(uri);
    for (const editor of window.visibleTextEditors) {
      const { document } = editor;
      if (document.uri.toString() !== uri) continue;
      for (const [kind, type] of types)
        editor.setDecorations(
          type,
          // A diff has the cost of the change there, in the same colour.
          kind === verdict && areHintsOn(document) && !isInDiffsAlone(editor)
            ? rangesOf(document, lines)
            : [],
        );
    }
  };
  const drawAll = () => {
    for (const uri of new Set([...marks.keys(), ...verdicts.keys()])) draw(uri);
  };
  return Disposable.from(
    ...types.values(),
    server.onHints((drawn) => {
      const key = drawn.document.uri.toString();
      marks.set(key, marksOf(drawn, marks.get(key)));
      draw(key);
    }),
    server.onStatus(({ uri, cell, status }) => {
      const key = cell ?? uri;
      if (status) verdicts.set(key, verdictSign(status));
      else verdicts.delete(key);
      draw(key);
    }),
    server.onState((state) => {
      if (state === 'running') return;
      verdicts.clear();
      drawAll();
    }),
    window.onDidChangeVisibleTextEditors(drawAll),
    window.tabGroups.onDidChangeTabs(drawAll),
    workspace.onDidChangeConfiguration(
      (change) => change.affectsConfiguration('editor.inlayHints') && drawAll(),
    ),
    workspace.onDidCloseTextDocument(({ uri }) => marks.delete(uri.toString())),
  );
}

/** Hints are asked for by stretches of a text: those of other stretches of the same text stay. */
function marksOf({ document, range, lines }: DrawnHints, known: Marks | undefined): Marks {
  const { version } = document;
  const others =
    known?.version === version
      ? [...known.lines].filter((line) => line < range.start.line || line > range.end.line)
      : [];
  return { version, lines: new Set([...others, ...lines]) };
}

/** The whole line: what stands behind it comes before a hint at its end. */
const rangesOf = (document: TextDocument, lines: readonly number[]): Range[] =>
  lines
    .filter((line) => line < document.lineCount)
    .map((line) => new Range(line, 0, line, document.lineAt(line).range.end.character));

/** Hints that a key has to be held for are out of sight mostly: no sign stands without one. */
function areHintsOn(document: TextDocument): boolean {
  const enabled = workspace.getConfiguration('editor', document).get<string>('inlayHints.enabled');
  return enabled === 'on' || enabled === 'onUnlessPressed';
}
