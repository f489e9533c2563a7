import type { CancellationToken } from 'vscode-languageserver';
import type { WrittenFile } from '../../advice/write/write';
import { TOOL_REQUEST, type ToolAnswer, type ToolParams } from '../../features/agent-protocol';
import { say } from '../../wording/say';
import type { Connected } from './connected';

/** Tools of agents inside the editor. */
export function onAgents(server: Connected): void {
  const { connection, runner, engine } = server;
  let tools: ((params: ToolParams) => Promise<ToolAnswer>) | undefined;
  connection.onRequest<ToolAnswer, void>(TOOL_REQUEST, (params: ToolParams, token: CancellationToken) =>
    runner.request<ToolAnswer>(
      'Tool',
      { isError: true, text: say('There is no answer.') },
      token,
      async () => {
        tools ??= (await engine()).tools((files) => carriedOut(files, server));
        return tools(params);
      },
    ),
  );
}

/** The editor changes the texts and leaves them unsaved: the person sees what came. */
async function carriedOut(files: readonly WrittenFile[], server: Connected): Promise<boolean> {
  const [{ toWorkspaceEdit }, { fileEdits }] = await Promise.all([
    import('../convert-actions'),
    import('../../features/file-edits'),
  ]);
  const edit = toWorkspaceEdit(fileEdits(files), server.client, { uri: '', version: null });
  if (!edit) return false;
  const { applied } = await server.connection.workspace.applyEdit({ label: 'Oomlint', edit });
  return applied;
}
