import { type CodeAction, CodeActionKind, type CodeActionParams } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { World } from '../advice/world';
import { codeActions } from '../features/code-actions';
import { fixActions, verdictOf } from '../features/fix-actions';
import { FIX_ALL, fixAll } from '../features/fix-all';
import type { Applied } from '../features/protocol';
import type { RunValues } from '../run/fields';
import type { Analysis } from '../workspace/analysis';
import type { Host } from '../workspace/host';
import type { Client } from './client';
import { toCodeAction, toWorkspaceEdit } from './convert-actions';
import { projectFile } from './project-files';
import type { Engine } from './runtime';

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
  readonly host: Host;
  readonly client: Client;
}

/** Actions at a place as the client can carry them out. Loaded when first asked for: it brings the parsers along. */
export async function actionsAt(
  analysis: Analysis,
  params: CodeActionParams,
  { document, host, client }: Surroundings,
  world: World,
): Promise<CodeAction[]> {
  const { context, range } = params;
  const asked = (kind: string) =>
    !context.only || context.only.some((only) => `${kind}.`.startsWith(`${only}.`) || only === '');
  const project = await projectFile(host, analysis);
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
  { document, client }: Omit<Surroundings, 'host'>,
  world: World,
): Promise<CodeAction> {
  const problem = verdictOf(analysis);
  const fixes = problem ? await fixActions(analysis, problem.range, world) : [];
  const fix = fixes.find(({ title }) => title === action.title);
  const edit = fix && toWorkspaceEdit(fix.edits, client, document);
  return edit ? { ...action, edit } : action;
}

/** Edits after which a run has these values, as the client can carry them out. */
export async function appliedTo(
  analysis: Analysis,
  values: RunValues,
  engine: Engine,
  {
    document,
    host,
    client,
  }: Omit<Surroundings, 'document'> & { document: { uri: string; version: number | null } },
): Promise<Applied> {
  const project = await projectFile(host, analysis);
  const readText = (uri: string) => host.readText(uri);
  const { edits, left } = await engine.applied(analysis, values, { project, readText });
  return { edit: edits.length > 0 ? toWorkspaceEdit(edits, client, document) : undefined, left };
}
