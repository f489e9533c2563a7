import {
  Disposable,
  EventEmitter,
  type ExtensionContext,
  lm,
  McpStdioServerDefinition,
  Uri,
  workspace,
} from 'vscode';

/** As the manifest names it. */
const PROVIDER = 'oomlint';
const SETTING = 'oomlint.agents.mcpServer';

/**
 * A server of the Model Context Protocol for each folder that is open, on the same engine as the tools of the chat: for agents in
 * the editor that take their tools from such servers alone. Only where the person switched it on, since the chat of the editor
 * would be offered each tool twice, and where the folder is trusted.
 */
export function agentServers({ extensionUri, extension }: ExtensionContext): Disposable {
  if (typeof lm?.registerMcpServerDefinitionProvider !== 'function') return new Disposable(() => undefined);
  const changed = new EventEmitter<void>();
  const { version } = extension.packageJSON as { readonly version: string };
  const program = Uri.joinPath(extensionUri, 'server', 'dist', 'mcp.js').fsPath;
  return Disposable.from(
    changed,
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SETTING)) changed.fire();
    }),
    workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    lm.registerMcpServerDefinitionProvider(PROVIDER, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => serverDefinitions(program, version),
    }),
  );
}

function serverDefinitions(program: string, version: string): McpStdioServerDefinition[] {
  if (!workspace.isTrusted || !workspace.getConfiguration().get<boolean>(SETTING)) return [];
  const folders = (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
  return folders.map(({ name, uri }) => {
    const label = folders.length > 1 ? `Oomlint: ${name}` : 'Oomlint';
    // The editor's own Node: nothing has to be installed.
    const server = new McpStdioServerDefinition(
      label,
      process.execPath,
      [program, uri.fsPath],
      { ELECTRON_RUN_AS_NODE: '1' },
      version,
    );
    server.cwd = uri;
    return server;
  });
}
