import {
  type CodeAction,
  type CodeActionContext,
  CodeActionKind,
  type CreateFile,
  type SnippetTextEdit,
  StringValue,
  type TextDocumentEdit,
  type TextEdit,
  type WorkspaceEdit,
} from 'vscode-languageserver';
import type { Action, FileEdit } from '../features/action';
import { before } from '../features/ranges';
import type { Client } from './client';
import { mutable, SOURCE } from './convert';

/** An action as the client can carry it out, or undefined where it cannot. `version` is that of the asked document. */
export function toCodeAction(
  action: Action,
  context: CodeActionContext,
  client: Client,
  document: { readonly uri: string; readonly version: number },
): CodeAction | undefined {
  if (context.only && !context.only.some((kind) => isWithin(action.kind ?? CodeActionKind.QuickFix, kind))) {
    return undefined;
  }
  if (action.command && !client.hasCommands) {
    return undefined;
  }
  const edit = action.edits.length > 0 ? toWorkspaceEdit(action.edits, client, document) : undefined;
  if (action.edits.length > 0 && !edit) {
    return undefined;
  }
  const { problem } = action;
  const solved = problem
    ? context.diagnostics.filter(
        (diagnostic) =>
          diagnostic.source === SOURCE &&
          diagnostic.code === problem.code &&
          !before(diagnostic.range.start, problem.range.start) &&
          !before(problem.range.start, diagnostic.range.start),
      )
    : [];
  return {
    title: action.title,
    kind: action.kind ?? CodeActionKind.QuickFix,
    ...(solved.length > 0 ? { diagnostics: solved } : {}),
    ...(action.preferred ? { isPreferred: true } : {}),
    ...(edit ? { edit } : {}),
    ...(action.command
      ? {
          command: {
            title: action.title,
            command: action.command.name,
            arguments: [action.command.argument],
          },
        }
      : {}),
  };
}

/** `quickfix` is asked for by `quickfix` and by the empty kind, not by `quickfix.other`. */
function isWithin(kind: CodeActionKind, asked: CodeActionKind): boolean {
  return asked === '' || kind === asked || kind.startsWith(`${asked}.`);
}

/** Edits of files as the client can carry them out; undefined where it cannot. */
export function toWorkspaceEdit(
  edits: readonly FileEdit[],
  client: Client,
  document: { readonly uri: string; readonly version: number | null },
): WorkspaceEdit | undefined {
  if (edits.some((edit) => edit.create) && !client.createsFiles) {
    return undefined;
  }
  if (!client.versionedEdits) {
    const changes: Record<string, TextEdit[]> = {};
    for (const edit of edits) {
      changes[edit.uri] = [...(changes[edit.uri] ?? []), textEdit(edit)];
    }
    return { changes };
  }
  const documentChanges: (TextDocumentEdit | CreateFile)[] = [];
  for (const uri of new Set(edits.map((edit) => edit.uri))) {
    const own = edits.filter((edit) => edit.uri === uri);
    if (own.some((edit) => edit.create)) {
      documentChanges.push({ kind: 'create', uri, options: { ignoreIfExists: true } });
    }
    documentChanges.push({
      textDocument: { uri, version: uri === document.uri ? document.version : null },
      edits: own.map((edit) =>
        client.snippetEdits && edit.snippet !== undefined ? snippetEdit(edit, edit.snippet) : textEdit(edit),
      ),
    });
  }
  return { documentChanges };
}

const textEdit = (edit: FileEdit): TextEdit => ({ range: mutable(edit.range), newText: edit.newText });

const snippetEdit = (edit: FileEdit, snippet: string): SnippetTextEdit => ({
  range: mutable(edit.range),
  snippet: StringValue.createSnippet(snippet),
});
