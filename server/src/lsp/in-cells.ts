import type { Diagnostic, TextDocumentEdit, TextEdit, WorkspaceEdit } from 'vscode-languageserver';
import { say } from '../wording/say';
import { mutable } from './convert';
import type { CellPlace, OpenNotebooks } from './notebooks';

/** Edits of notebooks as edits of their cells; undefined where one reaches over several cells. */
export function editInCells(edit: WorkspaceEdit, notebooks: OpenNotebooks): WorkspaceEdit | undefined {
  const { changes, documentChanges } = edit;
  if (changes) {
    const moved: Record<string, TextEdit[]> = {};
    for (const [uri, edits] of Object.entries(changes)) {
      const placed = notebooks.get(uri) ? inCells(uri, edits, notebooks) : [{ uri, edits }];
      if (!placed) return undefined;
      for (const one of placed) moved[one.uri] = [...(moved[one.uri] ?? []), ...one.edits];
    }
    return { ...edit, changes: moved };
  }
  const moved: NonNullable<WorkspaceEdit['documentChanges']> = [];
  for (const change of documentChanges ?? []) {
    if (!('textDocument' in change) || !notebooks.get(change.textDocument.uri)) {
      moved.push(change);
      continue;
    }
    const placed = inCells(change.textDocument.uri, change.edits, notebooks);
    if (!placed) return undefined;
    for (const { uri, version, edits } of placed)
      moved.push({ textDocument: { uri, version }, edits } satisfies TextDocumentEdit);
  }
  return { ...edit, documentChanges: moved };
}

interface CellEdits<E> {
  readonly uri: string;
  readonly version: number | null;
  readonly edits: E[];
}

function inCells<E extends { range: TextEdit['range'] } | TextDocumentEdit['edits'][number]>(
  uri: string,
  edits: readonly E[],
  notebooks: OpenNotebooks,
): CellEdits<E>[] | undefined {
  const found = new Map<string, CellEdits<E>>();
  for (const edit of edits) {
    const place = notebooks.place(uri, edit.range);
    if (!place) return undefined;
    const own = found.get(place.uri) ?? { uri: place.uri, version: place.version, edits: [] };
    own.edits.push({ ...edit, range: mutable(place.range) });
    found.set(place.uri, own);
  }
  return [...found.values()];
}

/** Problems of a notebook by cell: one list for each, the empty ones too. */
export function problemsByCell(
  uri: string,
  problems: readonly Diagnostic[],
  notebooks: OpenNotebooks,
): { readonly uri: string; readonly version: number; readonly diagnostics: Diagnostic[] }[] {
  const cells = notebooks.cellsOf(uri).map((cell) => ({ ...cell, diagnostics: [] as Diagnostic[] }));
  for (const problem of problems) {
    const place = placeOf(uri, problem.range, notebooks);
    const { relatedInformation } = problem;
    if (!place) continue;
    cells[place.index]?.diagnostics.push({
      ...problem,
      range: mutable(place.range),
      ...(relatedInformation
        ? {
            relatedInformation: relatedInformation.map((related) => {
              const { location } = related;
              const at = notebooks.get(location.uri) && placeOf(location.uri, location.range, notebooks);
              return at ? { ...related, location: { uri: at.uri, range: mutable(at.range) } } : related;
            }),
          }
        : {}),
    });
  }
  return cells;
}

/** As `place`, and where a range reaches over several cells, where it begins. */
function placeOf(uri: string, range: Diagnostic['range'], notebooks: OpenNotebooks): CellPlace | undefined {
  return notebooks.place(uri, range) ?? notebooks.place(uri, { start: range.start, end: range.start });
}

/** Markdown whose links to lines of an open notebook name its cells: lines of the joined text mean nothing to people. */
export function namesCells(markdown: string, notebooks: OpenNotebooks): string {
  return markdown.replace(/\[[^\][]*\]\(([^()\s]+\.ipynb)#L(\d+)\)/gi, (link, uri: string, line: string) => {
    const at = { line: Number(line) - 1, character: 0 };
    const place = notebooks.place(uri, { start: at, end: at });
    if (!place) return link;
    return say('code cell {0}, line {1}', String(place.index + 1), String(place.range.start.line + 1));
  });
}
