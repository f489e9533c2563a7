import type { TextDocument } from 'vscode-languageserver-textdocument';
import { canonicalUri, fileName, isInside, parentUri } from '../text/uri';
import { confinedHost } from '../workspace/confined-host';
import type { Host } from '../workspace/host';
import { repositoryAround } from '../workspace/repository-root';
import type { OpenTexts } from './open-texts';
import type { RemoteFiles } from './remote-files';

/** Places that a training config is edited in. Others (`git:`, output) show copies of something else; cells are read with their notebook. */
const SCHEMES: ReadonlySet<string> = new Set([
  'file',
  'untitled',
  'vscode-remote',
  'vscode-vfs',
  'vscode-test-web',
]);
const LANGUAGES = /^(json|jsonc|yaml|toml|shellscript|python|oomlint-flags)\b/;
const EXTENSIONS = /\.(json|jsonc|ya?ml|toml|sh|bash|slurm|sbatch|flags|py)$/i;
/** Files of build systems that editors take for YAML or shell scripts: nobody trains there. */
const OTHERS = /(^|\/)(\.github\/|\.gitlab-ci\.|\.circleci\/|dockerfile|docker-compose|azure-pipelines)/i;

export function isCandidate(document: TextDocument): boolean {
  const scheme = document.uri.slice(0, document.uri.indexOf(':')).toLowerCase();
  if (!SCHEMES.has(scheme)) {
    return false;
  }
  const known = LANGUAGES.test(document.languageId) || EXTENSIONS.test(document.uri);
  return known && !OTHERS.test(document.uri);
}

/** The world as the editor sees it: unsaved text first, then the disk, then what only the editor can read. */
export class EditorHost implements Host {
  /** Documents that are open are read wherever they lie; where there is no folder, there is nothing to keep to. */
  get confined() {
    return !this.trusted && this.folders.length > 0 ? 'untrusted' : undefined;
  }
  /** False in a workspace that its person has not chosen to trust. */
  trusted = true;
  /** Files that are not on a disk; undefined where the editor does not read them for us. */
  remote: RemoteFiles | undefined;
  readonly environment;
  readonly home;
  readonly #documents: OpenTexts;
  readonly #disk: Host;
  /** Folders that the person has open. */
  opened: readonly string[] = [];
  /** Roots of the repositories that they lie in, where these lie above them. */
  apart: readonly string[] = [];
  #inside: ReturnType<typeof confinedHost>;
  /** Hears of a folder above those that are open when something in it is looked for. */
  lookedAbove: (folder: string) => void = () => undefined;

  constructor(documents: OpenTexts, disk: Host) {
    this.#documents = documents;
    this.#disk = disk;
    this.#inside = confinedHost(disk, []);
    this.environment = disk.environment;
    this.home = disk.home;
  }

  /** What a script names is often meant from the root of its repository, of which a part may be open. */
  get folders(): readonly string[] {
    return [...this.opened, ...this.apart];
  }

  /** Nothing above the folders is looked at in a workspace that nobody chose to trust. */
  async open(folders: readonly string[]): Promise<void> {
    this.opened = folders;
    this.apart = [];
    this.#inside = confinedHost(this.#disk, folders);
    if (!this.trusted) return;
    const onDisk = folders.filter((folder) => folder.startsWith('file:'));
    const roots = await Promise.all(onDisk.map((folder) => repositoryAround(folder, this.#disk)));
    const above = roots.filter((root) => root !== undefined && !isInside(root, folders));
    this.apart = [...new Set(above as string[])];
  }

  async readText(uri: string): Promise<string | undefined> {
    return this.find(uri)?.getText() ?? this.#at(uri)?.readText(this.#looked(uri));
  }

  /** The file as it is saved, whatever an editor shows of it. */
  async readSaved(uri: string): Promise<string | undefined> {
    return this.#at(uri)?.readText(uri);
  }

  async exists(uri: string): Promise<boolean> {
    return this.find(uri) !== undefined || ((await this.#at(uri)?.exists(this.#looked(uri))) ?? false);
  }

  /** With the documents that are open under a name in the folder and not saved yet. */
  async list(uri: string): Promise<readonly string[] | undefined> {
    const names = await this.#at(uri)?.list?.(this.#looked(uri, uri));
    const folder = canonicalUri(uri);
    const open = this.#documents.all().filter((document) => parentUri(document.uri) === folder);
    const unsaved = open.map((document) => fileName(document.uri)).filter((name) => !names?.includes(name));
    return unsaved.length > 0 ? [...(names ?? []), ...unsaved].sort() : names;
  }

  async listFolders(uri: string): Promise<readonly string[] | undefined> {
    return this.#at(uri)?.listFolders?.(uri);
  }

  async realUri(uri: string): Promise<string | undefined> {
    return uri.startsWith('file:') ? this.#disk.realUri?.(uri) : undefined;
  }

  /** Whether a file can be read that no editor shows. */
  reads(uri: string): boolean {
    return this.#at(uri) !== undefined;
  }

  /** A file that is looked for, and the folder that it lies in. */
  #looked(uri: string, folder = parentUri(uri)): string {
    const isAbove = this.apart.length > 0 && isInside(uri, this.apart) && !isInside(uri, this.opened);
    if (isAbove && folder !== undefined) this.lookedAbove(folder);
    return uri;
  }

  /** Who can read a place: documents without one are open or nowhere. */
  #at(uri: string): Pick<Host, 'readText' | 'exists' | 'list' | 'listFolders'> | undefined {
    if (uri.startsWith('file:')) return this.confined ? this.#inside : this.#disk;
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(uri) ? this.remote : undefined;
  }

  /** Editors escape one path differently (`c%3A` and `c:`), so the canonical spellings are compared too. */
  find(uri: string): TextDocument | undefined {
    const exact = this.#documents.get(uri);
    if (exact) {
      return exact;
    }
    const wanted = canonicalUri(uri);
    return this.#documents.all().find((document) => canonicalUri(document.uri) === wanted);
  }
}
