import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';

import type { Host } from './host';

/** Larger files are data, not configs. Bytes. */
const LARGEST_FILE = 4 * 2 ** 20;

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
    try {
      // A device or a pipe would never end.
      const entry = path === undefined ? undefined : await stat(path);
      return path !== undefined && entry?.isFile() && entry.size <= LARGEST_FILE
        ? await readFile(path, 'utf8')
        : undefined;
    } catch {
      return undefined;
    }
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

  async list(uri: string): Promise<readonly string[] | undefined> {
    const path = pathOf(uri);
    try {
      const entries = path === undefined ? undefined : await readdir(path, { withFileTypes: true });
      return entries
        ?.filter((entry) => !entry.isDirectory())
        .map((entry) => entry.name)
        .sort();
    } catch {
      return undefined;
    }
  }
}
