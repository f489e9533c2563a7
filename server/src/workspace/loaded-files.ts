import type { ConfigDocument } from '../config/node';
import { requestKey } from '../config/python/data-files';
import type { DataRequest } from '../config/python/value';
import { canonicalUri, isInside, parentUri, resolvePath } from '../text/uri';
import { type ComposedFiles, compose } from './composition';
import type { ConfigPart } from './config-reading';
import { foldersAround } from './folders-around';

/** Files of data that one program is read with at most. */
const MOST_FILES = 12;
/** Formats of settings, by the end of a file's name. */
const SETTINGS = /\.(?:ya?ml|json|jsonc|json5|toml)$/i;

/** Files of data that a Python program loads, found as Python finds them: from the folder in which it is started. */
export class LoadedFiles {
  readonly documents = new Map<string, ConfigDocument>();
  readonly parts: ConfigPart[] = [];
  readonly #looked = new Set<string>();
  readonly #own: string;
  /** Folders in which the program may be started: its own, and those above it in the workspace. */
  readonly #bases: readonly string[];

  constructor(
    private readonly files: ComposedFiles,
    script: string,
  ) {
    this.#own = parentUri(script) ?? script;
    this.#bases = [...new Set([this.#own, ...foldersAround(script, files)])];
  }

  /** Looks for files that were not looked for yet; whether one of them is there. */
  async look(wanted: readonly DataRequest[]): Promise<boolean> {
    const before = this.documents.size;
    for (const request of wanted) {
      const key = requestKey(request);
      if (this.#looked.has(key) || this.#looked.size >= MOST_FILES) continue;
      this.#looked.add(key);
      const uri = await this.#find(request);
      const read = uri === undefined ? undefined : await this.files.parsed(uri);
      if (!read || uri === undefined) continue;
      const composed = request.composed ? await compose(read.document, this.files) : undefined;
      this.documents.set(key, composed?.document ?? read.document);
      this.parts.push({ uri, ...read, package: [] }, ...(composed?.parts ?? []));
    }
    return this.documents.size > before;
  }

  /** A file of the workspace. Where several folders have one of the name, which of them is meant depends on where the program is started. */
  async #find({ path, composed }: DataRequest): Promise<string | undefined> {
    if (!SETTINGS.test(path)) return undefined;
    const bases = composed ? [this.#own] : this.#bases;
    const found = new Set<string>();
    for (const base of bases) {
      const resolved = resolvePath(base, path);
      const uri = resolved === undefined ? undefined : canonicalUri(resolved);
      if (uri !== undefined && isInside(uri, this.#bases) && (await this.files.exists(uri))) found.add(uri);
    }
    const [only] = found;
    return found.size === 1 ? only : undefined;
  }
}
