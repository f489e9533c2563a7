import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { canonicalUri } from '../text/uri';
import { isConfigName } from '../workspace/config-names';
import { DiskHost } from '../workspace/disk-host';
import type { Host } from '../workspace/host';
import { git, revision } from './git';
import type { GitObjects } from './git-objects';

/** Larger files are data, not configs. Bytes. */
const LARGEST_FILE = 4 * 2 ** 20;
/** Files that are asked for with one that is read: whoever reads a tree reads them next. */
const AHEAD = 512;
/** The same in bytes. */
const AHEAD_BYTES = 4 * 2 ** 20;

/** One file of a tree. */
interface Entry {
  readonly id: string;
  readonly bytes: number;
  /** Where it stands among the files that may be configs; undefined for others. */
  readonly place?: number;
}

/**
 * The files of a repository as a commit has them, at the places where they lie on the disk. What lies outside of the repository,
 * such as downloaded models, is as the disk has it.
 */
export class GitTreeHost implements Host {
  readonly environment = process.env;
  readonly folders: readonly string[];
  readonly home?: string;
  readonly #disk: DiskHost;
  readonly #root: string;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #folders = new Map<string, { readonly files: string[]; readonly folders: Set<string> }>();
  readonly #objects: GitObjects;
  /** Files that may be configs, in the order of the tree. */
  readonly #mayBeConfigs: readonly Entry[];

  private constructor(
    root: string,
    entries: ReadonlyMap<string, Entry>,
    mayBeConfigs: readonly Entry[],
    objects: GitObjects,
  ) {
    const folder = canonicalUri(pathToFileURL(root).href);
    this.#root = folder.replace(/\/$/, '');
    this.folders = [folder];
    this.#disk = new DiskHost(this.folders);
    this.home = this.#disk.home;
    this.#entries = entries;
    this.#mayBeConfigs = mayBeConfigs;
    this.#objects = objects;
    for (const name of entries.keys()) this.#place(name);
  }

  /** `objects` are those of the repository, shared by its trees. Throws `UsageError` where there is no such commit. */
  static async at(root: string, commit: string, objects: GitObjects): Promise<GitTreeHost> {
    const listed = await git(root, ['ls-tree', '-r', '-l', '-z', revision(commit), '--']);
    const entries = new Map<string, Entry>();
    const mayBeConfigs: Entry[] = [];
    for (const line of String(listed).split('\0')) {
      // `100644 blob <id> <bytes>\t<path>`; a link or a submodule is no text.
      const [, id = '', bytes, name] = /^100\d+ blob (\w+) +(\d+)\t(.+)$/s.exec(line) ?? [];
      if (name === undefined) continue;
      const place = isConfigName(name) ? mayBeConfigs.length : undefined;
      const entry = { id, bytes: Number(bytes), place };
      entries.set(name, entry);
      if (place !== undefined) mayBeConfigs.push(entry);
    }
    return new GitTreeHost(root, entries, mayBeConfigs, objects);
  }

  /** Canonical URIs of the files that may be configs, in the order of the tree. */
  get candidates(): readonly string[] {
    return [...this.#entries].flatMap(([name, { place }]) => (place === undefined ? [] : this.#uriOf(name)));
  }

  async readText(uri: string): Promise<string | undefined> {
    const name = this.#nameOf(uri);
    if (name === undefined) return this.#disk.readText(uri);
    const entry = this.#entries.get(name);
    if (!entry || entry.bytes > LARGEST_FILE) return undefined;
    return this.#objects.read(entry.id, () => this.#idsAfter(entry)).catch(() => undefined);
  }

  async exists(uri: string): Promise<boolean> {
    const name = this.#nameOf(uri);
    if (name === undefined) return this.#disk.exists(uri);
    return this.#entries.has(name) || this.#folders.has(name);
  }

  async list(uri: string): Promise<readonly string[] | undefined> {
    const name = this.#nameOf(uri);
    if (name === undefined) return this.#disk.list(uri);
    return this.#folders.get(name)?.files.sort();
  }

  async listFolders(uri: string): Promise<readonly string[] | undefined> {
    const name = this.#nameOf(uri);
    if (name === undefined) return this.#disk.listFolders(uri);
    const found = this.#folders.get(name);
    return found && [...found.folders].sort();
  }

  /** Ids of the files that stand behind a file that may be a config. */
  #idsAfter({ place, bytes }: Entry): readonly string[] {
    if (place === undefined) return [];
    const ids: string[] = [];
    let sum = bytes;
    for (const next of this.#mayBeConfigs.slice(place + 1, place + 1 + AHEAD)) {
      if (next.bytes > LARGEST_FILE) continue;
      sum += next.bytes;
      if (sum > AHEAD_BYTES) break;
      ids.push(next.id);
    }
    return ids;
  }

  #uriOf(name: string): string {
    return `${this.#root}/${name.split('/').map(encodeURIComponent).join('/')}`;
  }

  /** Path from the root; undefined outside of the repository. */
  #nameOf(uri: string): string | undefined {
    const key = canonicalUri(uri).replace(/\/$/, '');
    if (key === this.#root) return '';
    if (!key.startsWith(`${this.#root}/`)) return undefined;
    try {
      return decodeURIComponent(key.slice(this.#root.length + 1));
    } catch {
      return undefined;
    }
  }

  #place(name: string): void {
    const folder = path.posix.dirname(name);
    this.#folder(folder === '.' ? '' : folder).files.push(path.posix.basename(name));
  }

  #folder(name: string) {
    const known = this.#folders.get(name);
    if (known) return known;
    const made = { files: [], folders: new Set<string>() };
    this.#folders.set(name, made);
    if (name !== '') {
      const above = path.posix.dirname(name);
      this.#folder(above === '.' ? '' : above).folders.add(path.posix.basename(name));
    }
    return made;
  }
}
