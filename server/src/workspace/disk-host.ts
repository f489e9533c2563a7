import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { readFileText } from './bounded-read';
import type { Host } from './host';
import { readSafetensorsHeader } from './safetensors-header';

/** Larger files are data, not configs. Bytes. */
const LARGEST_FILE = 4 * 2 ** 20;
/** Notebooks hold the pictures that they drew. Bytes. */
const LARGEST_NOTEBOOK = 64 * 2 ** 20;

/** Path of an address on this machine; undefined for others. */
export function diskPath(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

/** What a file may hold that is read at all. Bytes. */
export const largest = (path: string) => (path.endsWith('.ipynb') ? LARGEST_NOTEBOOK : LARGEST_FILE);

/** The disk as it is. */
export class DiskHost implements Host {
  readonly environment = process.env;
  readonly home = pathToFileURL(homedir()).href;
  constructor(
    readonly folders: readonly string[],
    readonly apart?: readonly string[],
  ) {}

  async readText(uri: string): Promise<string | undefined> {
    const path = diskPath(uri);
    if (path === undefined) return undefined;
    return path.endsWith('.safetensors')
      ? readSafetensorsHeader(path, LARGEST_FILE)
      : readFileText(path, largest(path));
  }

  async exists(uri: string): Promise<boolean> {
    const path = diskPath(uri);
    return (
      path !== undefined &&
      (await stat(path).then(
        () => true,
        () => false,
      ))
    );
  }

  async realUri(uri: string): Promise<string | undefined> {
    const path = diskPath(uri);
    const real = path === undefined ? undefined : await realpath(path).catch(() => undefined);
    return real === undefined ? undefined : pathToFileURL(real).href;
  }

  list(uri: string): Promise<readonly string[] | undefined> {
    return namesIn(uri, (entry) => !entry.isDirectory());
  }

  listFolders(uri: string): Promise<readonly string[] | undefined> {
    return namesIn(uri, (entry) => entry.isDirectory());
  }
}

/** Names of the entries that are wanted, in order. */
export const namesOf = (entries: readonly Dirent[], wanted: (entry: Dirent) => boolean): string[] =>
  entries
    .filter(wanted)
    .map(({ name }) => name)
    .sort();

async function namesIn(
  uri: string,
  wanted: (entry: Dirent) => boolean,
): Promise<readonly string[] | undefined> {
  const path = diskPath(uri);
  try {
    return path === undefined ? undefined : namesOf(await readdir(path, { withFileTypes: true }), wanted);
  } catch {
    return undefined;
  }
}
