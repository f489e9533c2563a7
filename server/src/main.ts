import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { version } from '../package.json';
import { lenientStart } from './lsp/lenient-start';
import { NODE_MACHINE } from './lsp/node-machine';
import { describe } from './lsp/runner';
import { startServer } from './server';
import { DiskHost } from './workspace/disk-host';

const USAGE = `oomlint-language-server ${version}
Language server of Oomlint: does this training run fit the GPU?

  --stdio          speak over standard input and output (what is done without an argument)
  --node-ipc       speak over Node's channel to the parent process
  --socket=PORT    connect to a port of this machine
  --pipe=NAME      connect to a named pipe
  --version        print the version
`;
const TRANSPORTS = /^--(stdio|node-ipc|socket|pipe)(=|$)/;

const asked = process.argv.slice(2);
if (asked.includes('--version')) {
  process.stdout.write(`${version}\n`);
} else if (asked.includes('--help')) {
  process.stdout.write(USAGE);
} else {
  serve();
}

/** Serves one editor until it goes away. */
function serve(): void {
  if (!asked.some((word) => TRANSPORTS.test(word))) {
    process.argv.push('--stdio');
  }
  const connection = createConnection(ProposedFeatures.all, { messageStrategy: lenientStart });
  // A bug in one analysis must not take the editor's whole session with it.
  process.on('uncaughtException', (error) => connection.console.error(`Unexpected: ${describe(error)}`));
  process.on('unhandledRejection', (error) => connection.console.error(`Unexpected: ${describe(error)}`));
  startServer(connection, {
    version,
    disk: new DiskHost([]),
    machine: NODE_MACHINE,
    createEngine: async (...parts) => (await import('./lsp/engine')).createEngine(...parts),
  });
}
