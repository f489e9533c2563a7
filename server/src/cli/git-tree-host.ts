import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { canonicalUri } from '../text/uri';
import { DiskHost } from '../workspace/disk-host';
import type { Host } from '../workspace/host';
import { git, revision } from './git';

/** Larger files are data, not configs. Bytes. */
const LARGEST_FILE = 4 * 2 ** 20;

/** One file of a tree. */
interface Entry {
  readonly id: string;
  readonly bytes: number;
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
  readonly #objects: ObjectReader;

  private constructor(root: string, entries: ReadonlyMap<string, Entry>) {
    this.#root = canonicalUri(pathToFileURL(root).href);
    this.folders = [this.#root];
    this.#disk = new DiskHost(this.folders);
    this.home = this.#disk.home;
    this.#entries = entries;
    this.#objects = new ObjectReader(root);
    for (const name of entries.keys()) this.#place(name);
  }

  /** Throws `UsageError` where there is no such commit. */
  static async at(root: string, commit: string): Promise<GitTreeHost> {
    const listed = await git(root, ['ls-tree', '-r', '-l', '-z', revision(commit), '--']);
    const entries = new Map<string, Entry>();
    for (const line of String(listed).split('\0')) {
      // `100644 blob <id> <bytes>\t<path>`; a link or a submodule is no text.
      const [, id = '', bytes, name] = /^100\d+ blob (\w+) +(\d+)\t(.+)$/s.exec(line) ?? [];
      if (name !== undefined) entries.set(name, { id, bytes: Number(bytes) });
    }
    return new GitTreeHost(root, entries);
  }

  /** Paths of all files, from the root of the repository. */
  get paths(): readonly string[] {
    return [...this.#entries.keys()];
  }

  async readText(uri: string): Promise<string | undefined> {
    const name = this.#nameOf(uri);
    if (name === undefined) return this.#disk.readText(uri);
    const entry = this.#entries.get(name);
    if (!entry || entry.bytes > LARGEST_FILE) return undefined;
    return this.#objects.read(entry.id).catch(() => undefined);
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

  close(): void {
    this.#objects.close();
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

/** Reads objects of a repository, one after the other, by one process of git. */
class ObjectReader {
  readonly #root: string;
  #child: ChildProcessWithoutNullStreams | undefined;
  #waiting: { resolve: (text: string) => void; reject: (error: Error) => void }[] = [];
  #buffer = Buffer.alloc(0);

  constructor(root: string) {
    this.#root = root;
  }

  read(id: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#started().stdin.write(`${id}\n`);
    });
  }

  close(): void {
    this.#child?.stdin.end();
    this.#child = undefined;
  }

  #started(): ChildProcessWithoutNullStreams {
    if (this.#child) return this.#child;
    const child = spawn('git', ['-C', this.#root, 'cat-file', '--batch']);
    child.stdout.on('data', (data: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, data]);
      this.#take();
    });
    const fail = () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('git cat-file ended'));
    };
    child.stdin.on('error', fail);
    child.on('error', fail);
    child.on('close', fail);
    this.#child = child;
    return child;
  }

  /** Answers are `<id> blob <bytes>\n<content>\n`, or `<id> missing\n`. */
  #take(): void {
    for (;;) {
      const end = this.#buffer.indexOf(10);
      if (end < 0) return;
      const [, , size] = this.#buffer.toString('latin1', 0, end).split(' ');
      const bytes = size === undefined ? -1 : Number(size);
      if (this.#buffer.length < end + 1 + bytes + 1) return;
      const waiting = this.#waiting.shift();
      if (bytes < 0) waiting?.reject(new Error('no such object'));
      else waiting?.resolve(this.#buffer.toString('utf8', end + 1, end + 1 + bytes).replace(/^\ufeff/, ''));
      this.#buffer = this.#buffer.subarray(end + 1 + bytes + 1);
    }
  }
}
