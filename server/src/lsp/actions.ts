import type { CodeAction, CodeActionParams } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { codeActions } from '../features/code-actions';
import type { Analysis } from '../workspace/analysis';
import type { Host } from '../workspace/host';
import type { Client } from './client';
import { toCodeAction } from './convert-actions';
import { projectFile } from './project-files';

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
