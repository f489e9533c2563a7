import {
  type CodeAction,
  CodeActionKind,
  type CodeActionParams,
  type Diagnostic,
} from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { World } from '../advice/world';
import type { Action } from '../features/action';
import { codeActions } from '../features/code-actions';
import { fixActions, verdictOf } from '../features/fix-actions';
import { FIX_ALL, fixAll } from '../features/fix-all';
import { LEARN_KIND } from '../features/learn-actions';
import type { Range } from '../text/place';
import type { Analysis } from '../workspace/analysis';
import type { Client } from './client';
import { mutable } from './convert';
import { toCodeAction, toWorkspaceEdit } from './convert-actions';
import { editInCells } from './in-cells';
import type { OpenNotebooks } from './notebooks';
import { rangeInto, type TextView } from './text-view';

/** What an action is found again by when its edits are asked for. */
interface ActionData {
  readonly uri: string;
  readonly version: number;
  readonly title: string;
}

export function isActionData(data: unknown): data is ActionData {
  const { uri, version, title } = (data ?? {}) as Partial<ActionData>;
  return typeof uri === 'string' && typeof version === 'number' && typeof title === 'string';
}

/** What a measured run can teach at a place; asked for only where the client takes such actions. */
type Lessons = (range: Range) => Promise<readonly Action[]>;

interface Surroundings {
  readonly document: TextDocument;
  readonly client: Client;
  readonly notebooks: OpenNotebooks;
}

/** Actions at a place as the client can carry them out. Loaded when first asked for: it brings the parsers along. */
export async function actionsAt(
  analysis: Analysis,
  params: CodeActionParams,
  {
    document,
    client,
    view,
    notebooks,
    lessons,
  }: Surroundings & {
    readonly view: TextView;
    readonly lessons: Lessons;
  },
  world: World,
): Promise<CodeAction[]> {
  const range = rangeInto(view, params.range);
  /** Problems of a cell at their places in the notebook, with what the client knows them by. */
  const given = params.context.diagnostics.map((one): [Diagnostic, Diagnostic] => [
    view.cell === undefined ? one : { ...one, range: mutable(rangeInto(view, one.range)) },
    one,
  ]);
  const context = { ...params.context, diagnostics: given.map(([moved]) => moved) };
  const asked = (kind: string) =>
    !context.only || context.only.some((only) => `${kind}.`.startsWith(`${only}.`) || only === '');
  const project = await world.project(analysis);
  const fixes = asked(CodeActionKind.QuickFix) ? await fixActions(analysis, range, world) : [];
  const all = context.only && asked(FIX_ALL) ? fixAll(analysis, document.getText()) : undefined;
  const actions = [
    ...codeActions(analysis, { text: document.getText(), range, project }),
    ...(all ? [all] : []),
    ...(asked(LEARN_KIND) ? await lessons(range) : []),
  ];
  const known = new Map(given);
  /** As the client knows the problem and the texts. */
  const inClientTerms = (action: CodeAction | undefined): CodeAction | undefined => {
    if (!action || view.cell === undefined) return action;
    const edit = action.edit && editInCells(action.edit, notebooks);
    if (action.edit && !edit) return undefined;
    const diagnostics = action.diagnostics?.map((one) => known.get(one) ?? one);
    return { ...action, ...(edit ? { edit } : {}), ...(diagnostics ? { diagnostics } : {}) };
  };
  return [
    ...fixes.flatMap((fix) => {
      const action = inClientTerms(toCodeAction(fix, context, client, document));
      if (!action || !client.resolvesActions) return action ?? [];
      const { edit: _later, ...shown } = action;
      const data: ActionData = { uri: document.uri, version: document.version, title: action.title };
      return { ...shown, data };
    }),
    ...actions.flatMap((action) => inClientTerms(toCodeAction(action, context, client, document)) ?? []),
  ];
}

/** The edits of an action that was shown without them; none where the text has changed since. */
export async function resolvedAction(
  action: CodeAction,
  analysis: Analysis,
  { document, client, notebooks }: Surroundings,
  world: World,
): Promise<CodeAction> {
  const problem = verdictOf(analysis);
  const fixes = problem ? await fixActions(analysis, problem.range, world) : [];
  const fix = fixes.find(({ title }) => title === action.title);
  const made = fix && toWorkspaceEdit(fix.edits, client, document);
  const edit = made && editInCells(made, notebooks);
  return edit ? { ...action, edit } : action;
}
