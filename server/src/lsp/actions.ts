import type { CodeAction, CodeActionParams } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { codeActions } from '../features/code-actions';
import type { Applied } from '../features/protocol';
import type { RunValues } from '../run/fields';
import type { Analysis } from '../workspace/analysis';
import type { Host } from '../workspace/host';
import type { Client } from './client';
import { toCodeAction, toWorkspaceEdit } from './convert-actions';
import { projectFile } from './project-files';
import type { Engine } from './runtime';

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
): Promise<CodeAction[]> {
  const project = await projectFile(host, analysis);
  const actions = codeActions(analysis, { text: document.getText(), range: params.range, project });
  return actions.flatMap((action) => toCodeAction(action, params.context, client, document) ?? []);
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
