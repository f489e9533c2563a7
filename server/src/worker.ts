import {
  BrowserMessageReader,
  BrowserMessageWriter,
  createConnection,
  ProposedFeatures,
} from 'vscode-languageserver/browser';
import { version } from '../package.json';
import { handGrammar } from './config/python/grammar';
import { GRAMMAR_REQUEST, type GrammarParams } from './features/workspace-protocol';
import { createEngine } from './lsp/engine';
import { lenientStart } from './lsp/lenient-start';
import { startServer } from './server';
import { MemoryHost } from './workspace/memory-host';

/** The language server in a worker of a browser: without a disk, a driver or processes. */
const [reader, writer] = [new BrowserMessageReader(self), new BrowserMessageWriter(self)];
const connection = createConnection(ProposedFeatures.all, reader, writer, { messageStrategy: lenientStart });

handGrammar(async (name) => {
  const bytes = await connection.sendRequest<Uint8Array>(GRAMMAR_REQUEST, { name } satisfies GrammarParams);
  return Uint8Array.from(bytes);
});
startServer(connection, {
  version,
  disk: new MemoryHost({}),
  createEngine: async (...parts) => createEngine(...parts),
});
