import { Uri, workspace } from 'vscode';
import {
  BrowserMessageReader,
  BrowserMessageWriter,
  LanguageClient,
  State,
} from 'vscode-languageclient/browser';
import { GRAMMAR_REQUEST, type GrammarParams } from '../../server/src/shared/protocol';
import type { Connect } from './language-server';

/** The server as a worker of the browser. Of the extension's own files it gets those of the Python parser, by name. */
export function workerServer(extension: Uri): Connect {
  const modules = Uri.joinPath(extension, 'server', 'dist', 'modules');
  return (options) => {
    let worker: Worker | undefined;
    const client = new LanguageClient(
      'oomlint',
      'Oomlint',
      async () => {
        worker?.terminate();
        worker = new Worker(startOf(Uri.joinPath(modules, 'worker.mjs')));
        // The library knows none of the workers that VS Code makes within its own.
        return { reader: new BrowserMessageReader(worker), writer: new BrowserMessageWriter(worker) };
      },
      options,
    );
    client.onRequest(GRAMMAR_REQUEST, ({ name }: GrammarParams) => {
      if (!/^[\w-]+\.wasm$/.test(name)) throw new Error(`${name} is not part of the parser`);
      return workspace.fs.readFile(Uri.joinPath(modules, name));
    });
    // A worker has no end of its own.
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped) worker?.terminate();
    });
    return client;
  };
}

/**
 * Address of a script that loads the server's modules. Workers of extensions are scripts of the older kind, which can only
 * import; what the editor states until that is done waits.
 */
function startOf(module: Uri): string {
  const script = `
const early = [];
const keep = ({ data }) => early.push(data);
addEventListener('message', keep);
import(${JSON.stringify(module.toString(true))}).then(() => {
  removeEventListener('message', keep);
  for (const data of early) dispatchEvent(new MessageEvent('message', { data }));
});
`;
  return URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
}
