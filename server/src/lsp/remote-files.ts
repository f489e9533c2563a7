import type { Connection } from 'vscode-languageserver/node';
import {
  FILE_EXISTS_REQUEST,
  type FileParams,
  LIST_FOLDER_REQUEST,
  READ_FILE_REQUEST,
} from '../features/workspace-protocol';
import type { Host } from '../workspace/host';

/** Larger files are data, not configs. Characters. */
const LONGEST = 4 * 2 ** 20;

/** Files of schemes that only the editor can read, such as those of a repository that is opened without a checkout. */
export class RemoteFiles implements Pick<Host, 'readText' | 'exists' | 'list'> {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async readText(uri: string): Promise<string | undefined> {
    const text = await this.#ask<string>(READ_FILE_REQUEST, uri);
    return typeof text === 'string' && text.length <= LONGEST ? text : undefined;
  }

  async exists(uri: string): Promise<boolean> {
    return (await this.#ask<boolean>(FILE_EXISTS_REQUEST, uri)) === true;
  }

  async list(uri: string): Promise<readonly string[] | undefined> {
    const names = await this.#ask<readonly string[]>(LIST_FOLDER_REQUEST, uri);
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : undefined;
  }

  /** An editor that cannot say counts as one that has no such file. */
  async #ask<T>(request: string, uri: string): Promise<T | null | undefined> {
    try {
      return await this.#connection.sendRequest<T | null>(request, { uri } satisfies FileParams);
    } catch {
      return undefined;
    }
  }
}
