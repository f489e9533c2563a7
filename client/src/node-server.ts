import path from 'node:path';
import { Uri } from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import type { Connect } from './language-server';

/** The server as a process of its own. */
export function nodeServer(extension: Uri): Connect {
  const module = Uri.joinPath(extension, 'server', 'dist', 'server.js').fsPath;
  // Not the folder that is open: programs without a path would be looked for there.
  const cwd = path.dirname(module);
  const transport = TransportKind.ipc;
  return (options) =>
    new LanguageClient(
      'oomlint',
      'Oomlint',
      {
        run: { module, transport, options: { cwd } },
        debug: { module, transport, options: { cwd, execArgv: ['--nolazy', '--inspect=6009'] } },
      },
      options,
    );
}
