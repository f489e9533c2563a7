import { Position, Range, type TextDocument, type Uri, WorkspaceEdit, window, workspace } from 'vscode';
import { findField } from '../../../server/src/shared/fields';
import { isPythonCell, openNotebook } from '../notebook-cells';
import { shortName } from './short-name';

const DIRECTIVE = /(?:^|\s)(?:#|\/\/)[ \t]*oomlint:[ \t]*(.*)$/;

/** States facts in a comment of the config itself: changes the directive that is there, or adds one on top. */
export async function writeDirective(uri: Uri, facts: ReadonlyMap<string, string>): Promise<void> {
  const document = await textToNote(uri);
  const edit = new WorkspaceEdit();
  const existing = findDirective(document);
  if (existing === undefined) {
    const comment = commentOf(document.languageId);
    const line = firstFreeLine(document);
    edit.insert(document.uri, new Position(line, 0), `${comment} oomlint: ${mergeDirective('', facts)}\n`);
  } else {
    edit.replace(document.uri, existing.range, mergeDirective(existing.text, facts));
  }
  await workspace.applyEdit(edit);
  if (!openNotebook(uri)) await window.showTextDocument(document, { preview: false });
}

/**
 * The text that a comment about a file is written into: of a notebook the cell that has one already, else the first that need
 * not keep a magic of the whole cell on its first line.
 */
export async function textToNote(uri: Uri): Promise<TextDocument> {
  const cells = (openNotebook(uri)?.getCells() ?? []).map(({ document }) => document).filter(isPythonCell);
  return (
    cells.find(findDirective) ??
    cells.find((cell) => !/^\s*%%/.test(cell.getText())) ??
    workspace.openTextDocument(uri)
  );
}

/** What a comment begins with in a config of this language. */
export function commentOf(languageId: string): '#' | '//' {
  return /^json/.test(languageId) ? '//' : '#';
}

/** Assignments of a directive with those of `facts` changed or added; the others stay as they are. */
export function mergeDirective(text: string, facts: ReadonlyMap<string, string>): string {
  const left = new Map(facts);
  const assignment = (field: string, value: string) => `${shortName(field)}=${quote(value)}`;
  const kept = (text.match(/(?:[^\s,"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) => {
    const field = findField(word.split('=', 1)[0] ?? '') ?? '';
    const value = left.get(field);
    left.delete(field);
    return value === undefined ? word : assignment(field, value);
  });
  return [...kept, ...[...left].map(([field, value]) => assignment(field, value))].join(' ');
}

function quote(value: string): string {
  return /[\s,"']/.test(value) ? JSON.stringify(value) : value;
}

function findDirective(document: TextDocument): { range: Range; text: string } | undefined {
  for (let line = 0; line < document.lineCount; line++) {
    const { text } = document.lineAt(line);
    const match = DIRECTIVE.exec(text);
    const body = match?.[1];
    // `off` and its like switch things; facts go into a directive that states facts.
    if (body?.includes('=')) {
      return { range: new Range(line, text.length - body.length, line, text.length), text: body.trimEnd() };
    }
  }
  return undefined;
}

/** Below a shebang, an encoding line, a YAML directive or a modeline: those only count at the top. */
function firstFreeLine(document: TextDocument): number {
  let line = 0;
  while (
    line < document.lineCount - 1 &&
    /^(#!|#.*coding[:=]|%YAML|# yaml-language-server:|#:schema )/.test(document.lineAt(line).text)
  ) {
    line++;
  }
  return line;
}
