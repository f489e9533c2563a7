import { canonicalUri } from '../text/uri';
import type { Host } from './host';

/** A world of texts by URI, for tests and for embedding without a disk. */
export class MemoryHost implements Host {
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly home?: string;
  readonly #files = new Map<string, string>();

  constructor(
    files: Readonly<Record<string, string>>,
    options: Partial<Pick<Host, 'folders' | 'environment' | 'home'>> = {},
  ) {
    for (const [uri, text] of Object.entries(files)) {
      this.write(uri, text);
    }
    this.folders = options.folders ?? [];
    this.environment = options.environment ?? {};
    this.home = options.home;
  }

  write(uri: string, text: string): void {
    this.#files.set(canonicalUri(uri), text);
  }

  remove(uri: string): void {
    this.#files.delete(canonicalUri(uri));
  }

  async readText(uri: string): Promise<string | undefined> {
    return this.#files.get(canonicalUri(uri));
  }

  async exists(uri: string): Promise<boolean> {
    const key = canonicalUri(uri);
    return this.#files.has(key) || [...this.#files.keys()].some((file) => file.startsWith(`${key}/`));
  }

  async list(uri: string): Promise<readonly string[] | undefined> {
    const folder = `${canonicalUri(uri).replace(/\/$/, '')}/`;
    const names = [...this.#files.keys()]
      .filter((file) => file.startsWith(folder) && !file.slice(folder.length).includes('/'))
      .map((file) => decodeURIComponent(file.slice(folder.length)));
    return names.length > 0 ? names.sort() : undefined;
  }

  async listFolders(uri: string): Promise<readonly string[] | undefined> {
    const folder = `${canonicalUri(uri).replace(/\/$/, '')}/`;
    const names = [...this.#files.keys()]
      .filter((file) => file.startsWith(folder) && file.slice(folder.length).includes('/'))
      .map((file) => decodeURIComponent(file.slice(folder.length).split('/', 1)[0] ?? ''));
    return names.length > 0 ? [...new Set(names)].sort() : undefined;
  }
}
