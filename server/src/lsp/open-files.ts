import type { TextDocuments } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Host } from '../workspace/host';
import { canonicalUri } from '../workspace/uri';

/** Places that a training config is edited in. Others (`git:`, notebook cells, output) show copies of something else. */
const SCHEMES: ReadonlySet<string> = new Set([
  'file',
  'untitled',
  'vscode-remote',
  'vscode-vfs',
  'vscode-test-web',
]);
const LANGUAGES = /^(json|jsonc|yaml|oomlint-flags)\b/;
const EXTENSIONS = /\.(json|jsonc|ya?ml|flags)$/i;

export function isCandidate(document: TextDocument): boolean {
  const scheme = document.uri.slice(0, document.uri.indexOf(':')).toLowerCase();
  if (!SCHEMES.has(scheme)) {
    return false;
  }
  return LANGUAGES.test(document.languageId) || EXTENSIONS.test(document.uri);
}

/** The world as the editor sees it: unsaved text first, then the disk. */
export class EditorHost implements Host {
  folders: readonly string[] = [];
  readonly environment;
  readonly home;
  readonly #documents: TextDocuments<TextDocument>;
  readonly #disk: Host;

  constructor(documents: TextDocuments<TextDocument>, disk: Host) {
    this.#documents = documents;
    this.#disk = disk;
    this.environment = disk.environment;
    this.home = disk.home;
  }

  async readText(uri: string): Promise<string | undefined> {
    return this.find(uri)?.getText() ?? (isFile(uri) ? this.#disk.readText(uri) : undefined);
  }

  async exists(uri: string): Promise<boolean> {
    return this.find(uri) !== undefined || (isFile(uri) && this.#disk.exists(uri));
  }

  async list(uri: string): Promise<readonly string[] | undefined> {
    return isFile(uri) ? this.#disk.list?.(uri) : undefined;
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

const isFile = (uri: string) => uri.startsWith('file:');
