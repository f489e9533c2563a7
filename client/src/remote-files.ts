import { FileType, Uri, workspace } from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  FILES_REQUEST,
  type FilesAnswer,
  type FilesParams,
  type FolderNames,
} from '../../server/src/shared/protocol';

/** Larger files are data, not configs. Bytes. */
const LARGEST = 4 * 2 ** 20;

/** Reads files for the server that are not on a disk: those of a repository opened without a checkout, and the like. */
export function answerFileRequests(client: BaseLanguageClient): void {
  client.onRequest(FILES_REQUEST, async ({ texts, folders }: FilesParams): Promise<FilesAnswer> => {
    const [read, listed] = await Promise.all([
      Promise.all(texts.map((uri) => textOf(uri).catch(() => null))),
      Promise.all(folders.map((uri) => namesOf(uri).catch(() => null))),
    ]);
    return { texts: read, folders: listed };
  });
}

async function textOf(uri: string): Promise<string | null> {
  const file = Uri.parse(uri, true);
  const { type, size } = await workspace.fs.stat(file);
  return (type & FileType.File) !== 0 && size <= LARGEST
    ? new TextDecoder().decode(await workspace.fs.readFile(file))
    : null;
}

async function namesOf(uri: string): Promise<FolderNames> {
  const entries = await workspace.fs.readDirectory(Uri.parse(uri, true));
  const names = (wanted: boolean) =>
    entries.flatMap(([name, type]) => (((type & FileType.Directory) !== 0) === wanted ? [name] : [])).sort();
  return { files: names(false), folders: names(true) };
}
