import { FileType, Uri, workspace } from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import {
  FILE_EXISTS_REQUEST,
  type FileParams,
  LIST_FOLDER_REQUEST,
  READ_FILE_REQUEST,
} from '../../server/src/shared/protocol';

/** Larger files are data, not configs. Bytes. */
const LARGEST = 4 * 2 ** 20;

/** Reads files for the server that are not on a disk: those of a repository opened without a checkout, and the like. */
export function answerFileRequests(client: LanguageClient): void {
  const { fs } = workspace;
  client.onRequest<string | null, void>(
    READ_FILE_REQUEST,
    async ({ uri }: FileParams): Promise<string | null> => {
      try {
        const file = Uri.parse(uri, true);
        const { type, size } = await fs.stat(file);
        return (type & FileType.File) !== 0 && size <= LARGEST
          ? new TextDecoder().decode(await fs.readFile(file))
          : null;
      } catch {
        return null;
      }
    },
  );
  client.onRequest<boolean, void>(FILE_EXISTS_REQUEST, async ({ uri }: FileParams): Promise<boolean> => {
    try {
      await fs.stat(Uri.parse(uri, true));
      return true;
    } catch {
      return false;
    }
  });
  client.onRequest<string[] | null, void>(
    LIST_FOLDER_REQUEST,
    async ({ uri }: FileParams): Promise<string[] | null> => {
      try {
        const entries = await fs.readDirectory(Uri.parse(uri, true));
        return entries.flatMap(([name, type]) => ((type & FileType.Directory) === 0 ? name : [])).sort();
      } catch {
        return null;
      }
    },
  );
}
