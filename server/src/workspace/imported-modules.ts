import type { Lines } from '../config/lines';
import type { ConfigDocument, MapNode } from '../config/node';
import { parseConfig } from '../config/parse';
import { pythonLines } from '../config/python/databricks-source';
import { parsePython } from '../config/python/grammar';
import { LIBRARY, modulesAround, submodule } from '../config/python/imports';
import { withoutMagics } from '../config/python/magics';
import { searchedFolders } from '../config/python/searched-folders';
import { brokenIn, type SyntaxNode } from '../config/python/syntax-node';
import type { PyModule, PyProgram } from '../config/python/value';
import { libraryArguments } from '../dialects/python/library-arguments';
import { MadeOfTexts } from '../memo/made-of-texts';
import { canonicalUri, isInside, parentUri, resolvePath } from '../text/uri';
import { sameItems } from './asked';
import type { ComposedFiles, Composition } from './composition';
import type { ConfigPart } from './config-reading';
import { LoadedFiles } from './loaded-files';

/** Modules that one program is read with at most, and how deep they import each other. */
const MOST_MODULES = 16;
const DEEPEST = 4;

/** Modules that a Python file imports, found as Python finds them: beside the script, in the folders that it adds, else from a workspace folder. */
class Modules {
  readonly parts: ConfigPart[] = [];
  readonly #known = new Map<string, PyModule & { readonly imports: Map<string, PyModule> }>();
  readonly #bases: readonly string[];

  constructor(
    private readonly files: ComposedFiles,
    script: string,
    program: PyProgram,
  ) {
    const own = parentUri(script);
    const around = files.folders
      .map((folder) => canonicalUri(folder).replace(/\/$/, ''))
      .filter((folder) => isInside(script, [folder]))
      .sort((a, b) => b.length - a.length);
    const beside = own === undefined ? [] : [own];
    // A path that is not whole counts from the folder that the program is started in.
    const put = (isFirst: boolean) =>
      searchedFolders(program)
        .filter((one) => one.isFirst === isFirst)
        .flatMap(({ path }) => [...beside, ...around].flatMap((base) => resolvePath(base, `${path}/`) ?? []))
        .map((folder) => canonicalUri(folder).replace(/\/$/, ''))
        .filter((folder) => around.length === 0 || isInside(folder, around));
    this.#bases = [...new Set([...put(true), ...beside, ...put(false), ...around])];
  }

  /** The modules of the workspace that a file imports, by the names that it imports them with. */
  async importsOf({ uri, program }: ConfigDocument, depth = 0): Promise<Map<string, PyModule>> {
    const found = new Map<string, PyModule>();
    if (depth >= DEEPEST) return found;
    const look = async (name: string) => {
      const module = found.has(name) ? undefined : await this.#module(uri, name, depth);
      if (module) found.set(name, module);
    };
    for (const { module, names } of program?.imports ?? []) {
      if (LIBRARY.test(module)) continue;
      for (const name of modulesAround(module)) if (!/^\.*$/.test(name)) await look(name);
      // What a package lends may be a module of its own; a file has none.
      if (found.has(module) && !found.get(module)?.uri.endsWith('/__init__.py')) continue;
      for (const name of names) await look(submodule(module, name));
    }
    return found;
  }

  /** What each file imports by which name: `[[name, place], ...]`, of the program first. */
  names(imports: ReadonlyMap<string, PyModule>): (readonly (readonly [string, string])[])[] {
    return [imports, ...[...this.#known.values()].map((module) => module.imports)].map((each) =>
      [...each].map(([name, { uri }]) => [name, uri] as const),
    );
  }

  async #module(from: string, name: string, depth: number): Promise<PyModule | undefined> {
    const uri = await this.#find(from, name);
    if (uri === undefined) return undefined;
    const known = this.#known.get(uri);
    if (known) return known;
    if (this.#known.size >= MOST_MODULES) return undefined;
    const read = await this.files.parsed(uri);
    const tree = read && treeOf(read.document, read.text);
    if (!read || !tree) return undefined;
    const made = { uri, ...tree, imports: new Map<string, PyModule>() };
    this.#known.set(uri, made);
    this.parts.push({ uri, ...read, package: [] });
    for (const [inner, module] of await this.importsOf(read.document, depth + 1))
      made.imports.set(inner, module);
    return made;
  }

  async #find(from: string, name: string): Promise<string | undefined> {
    const dots = /^\.*/.exec(name)?.[0].length ?? 0;
    const path = name.slice(dots).split('.');
    let near = parentUri(from);
    for (let up = 1; up < dots && near !== undefined; up++) near = parentUri(near);
    for (const base of dots === 0 ? this.#bases : near === undefined ? [] : [near]) {
      const found = await this.#below(base, path);
      if (found !== undefined) return isInside(found, this.#bases) ? found : undefined;
    }
    return undefined;
  }

  /** `a.b` below a folder: `a/b/__init__.py`, else `a/b.py`. */
  async #below(base: string, path: readonly string[]): Promise<string | undefined> {
    let folder = base;
    for (const [index, part] of path.entries()) {
      if (!/^\w+$/.test(part) || part === 'site-packages') return undefined;
      const isPackage = (await this.files.listFolders(folder))?.includes(part) === true;
      const next = `${folder}/${encodeURIComponent(part)}`;
      if (index === path.length - 1) {
        if (isPackage && (await this.files.list(next))?.includes('__init__.py'))
          return canonicalUri(`${next}/__init__.py`);
        return (await this.files.list(folder))?.includes(`${part}.py`)
          ? canonicalUri(`${next}.py`)
          : undefined;
      }
      if (!isPackage) return undefined;
      folder = next;
    }
    return undefined;
  }
}

const trees = new WeakMap<ConfigDocument, { readonly tree: SyntaxNode; readonly lines: Lines }>();

/** Of a document that could be read; undefined of one that is broken or too large. */
function treeOf(document: ConfigDocument, text: string) {
  const known = trees.get(document);
  if (known) return known;
  if (!document.program) return undefined;
  const lines = pythonLines(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  const tree = parsePython(withoutMagics(lines.text));
  if (!tree || brokenIn(tree)) return undefined;
  const made = { tree, lines };
  trees.set(document, made);
  return made;
}

/** Files that name further ones are followed so often. */
const MOST_ROUNDS = 3;
/** Characters of the programs that are remembered as they are with what lies around them: the commands of a text start the same one. */
const MOST_CHARACTERS = 1_000_000;

/** A program with what lies around it, and the documents that this was made of. */
interface Surrounded {
  readonly document: ConfigDocument;
  readonly of: readonly ConfigDocument[];
}

const surrounded = new MadeOfTexts<Surrounded>(MOST_CHARACTERS);

/** A Python file read with what it imports and loads of the workspace; undefined where it takes nothing of it. `command`: what starts it. */
export async function withSurroundings(
  document: ConfigDocument,
  text: string,
  files: ComposedFiles,
  command?: MapNode,
): Promise<Composition | undefined> {
  const { uri, program } = document;
  if (!program) return undefined;
  const modules = new Modules(files, canonicalUri(uri), program);
  const imports = await modules.importsOf(document);
  const loaded = new LoadedFiles(files, canonicalUri(uri));
  const names = JSON.stringify([uri, command, ...modules.names(imports)]);
  const read = () => {
    const data = loaded.documents;
    const of = [document, ...modules.parts.map((part) => part.document), ...data.values()];
    const make = () => ({
      document: parseConfig(uri, text, { imports, command, argumentsOf: libraryArguments, data }),
      of,
    });
    return surrounded.of([names, ...data.keys()].join('\0'), text, make, (known) => sameItems(known.of, of))
      .document;
  };
  let whole = imports.size === 0 && !command ? document : read();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    if (!(await loaded.look(whole.program?.wanted ?? []))) break;
    whole = read();
  }
  if (whole === document) return undefined;
  const taken = new Set(whole.program?.taken);
  return {
    own: document,
    document: whole,
    parts: [...modules.parts, ...loaded.parts].filter((part) => taken.has(part.uri)),
    looked: [...modules.parts, ...loaded.parts].map((part) => part.document),
  };
}
