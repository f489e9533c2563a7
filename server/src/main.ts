import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { version } from '../package.json';
import { describe } from './lsp/runner';
import { startServer } from './server';
import { DiskHost } from './workspace/disk-host';

/** Entry of the bundled server under Node: `--stdio`, `--node-ipc`, `--socket=port` or `--pipe=name`. */
const connection = createConnection(ProposedFeatures.all);

// A bug in one analysis must not take the editor's whole session with it.
process.on('uncaughtException', (error) => connection.console.error(`Unexpected: ${describe(error)}`));
process.on('unhandledRejection', (error) => connection.console.error(`Unexpected: ${describe(error)}`));

startServer(connection, {
  version,
  disk: new DiskHost([]),
  createEngine: async (host, preferences) => {
    const { createEngine } = await import('./lsp/engine');
    return createEngine(host, preferences);
  },
});
