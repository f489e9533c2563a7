import { type CodeAction, CodeActionKind, type CodeActionParams } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { World } from '../advice/world';
import { codeActions } from '../features/code-actions';
import { fixActions, verdictOf } from '../features/fix-actions';
import { FIX_ALL, fixAll } from '../features/fix-all';
import type { Analysis } from '../workspace/analysis';
import type { Client } from './client';
import { toCodeAction, toWorkspaceEdit } from './convert-actions';

/** What an action is found again by when its edits are asked for. */
export interface ActionData {
  readonly uri: string;
  readonly version: number;
  readonly title: string;
}

export function isActionData(data: unknown): data is ActionData {
  const { uri, version, title } = (data ?? {}) as Partial<ActionData>;
  return typeof uri === 'string' && typeof version === 'number' && typeof title === 'string';
}

interface Surroundings {
  readonly document: TextDocument;
  readonly client: Client;
}

/** Actions at a place as the client can carry them out. Loaded when first asked for: it brings the parsers along. */
export async function actionsAt(
  analysis: Analysis,
  params: CodeActionParams,
  { document, client }: Surroundings,
  world: World,
): Promise<CodeAction[]> {
  const { context, range } = params;
  const asked = (kind: string) =>
    !context.only || context.only.some((only) => `${kind}.`.startsWith(`${only}.`) || only === '');
  const project = await world.project(analysis);
  const fixes = asked(CodeActionKind.QuickFix) ? await fixActions(analysis, range, world) : [];
  const all = context.only && asked(FIX_ALL) ? fixAll(analysis, document.getText()) : undefined;
  const actions = [
    ...codeActions(analysis, { text: document.getText(), range, project }),
    ...(all ? [all] : []),
  ];
  return [
    ...fixes.flatMap((fix) => {
      const action = toCodeAction(fix, context, client, document);
      if (!action || !client.resolvesActions) return action ?? [];
      const { edit: _later, ...shown } = action;
      const data: ActionData = { uri: document.uri, version: document.version, title: action.title };
      return { ...shown, data };
    }),
    ...actions.flatMap((action) => toCodeAction(action, context, client, document) ?? []),
  ];
}

/** The edits of an action that was shown without them; none where the text has changed since. */
export async function resolvedAction(
  action: CodeAction,
  analysis: Analysis,
  { document, client }: Surroundings,
  world: World,
): Promise<CodeAction> {
  const problem = verdictOf(analysis);
  const fixes = problem ? await fixActions(analysis, problem.range, world) : [];
  const fix = fixes.find(({ title }) => title === action.title);
  const edit = fix && toWorkspaceEdit(fix.edits, client, document);
  return edit ? { ...action, edit } : action;
}
