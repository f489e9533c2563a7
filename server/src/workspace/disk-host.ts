import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { readFileText } from './bounded-read';
import type { Host } from './host';

/** Larger files are data, not configs. Bytes. */
const LARGEST_FILE = 4 * 2 ** 20;
/** Notebooks hold the pictures that they drew. Bytes. */
const LARGEST_NOTEBOOK = 64 * 2 ** 20;

function pathOf(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

/** The disk as it is, for the command line. */
export class DiskHost implements Host {
  readonly environment = process.env;
  readonly home = pathToFileURL(homedir()).href;
  readonly folders: readonly string[];

  constructor(folders: readonly string[]) {
    this.folders = folders;
  }

  async readText(uri: string): Promise<string | undefined> {
    const path = pathOf(uri);
    if (path === undefined) return undefined;
    return readFileText(path, path.endsWith('.ipynb') ? LARGEST_NOTEBOOK : LARGEST_FILE);
  }

  async exists(uri: string): Promise<boolean> {
    const path = pathOf(uri);
    return (
      path !== undefined &&
      (await stat(path).then(
        () => true,
        () => false,
      ))
    );
  }

  async realUri(uri: string): Promise<string | undefined> {
    const path = pathOf(uri);
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

async function namesIn(
  uri: string,
  wanted: (entry: Dirent) => boolean,
): Promise<readonly string[] | undefined> {
  const path = pathOf(uri);
  try {
    const entries = path === undefined ? undefined : await readdir(path, { withFileTypes: true });
    return entries
      ?.filter(wanted)
      .map((entry) => entry.name)
      .sort();
  } catch {
    return undefined;
  }
}
