import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Packages that carry the parser's two files in WebAssembly; a build lays them beside its bundles. */
const PACKAGES = {
  'web-tree-sitter.wasm': 'web-tree-sitter',
  'tree-sitter-python.wasm': 'tree-sitter-python',
} as const;

export type GrammarFile = keyof typeof PACKAGES;

/** One of the parser's files: beside the bundle, else among the installed packages above it. Rejects where it is nowhere. */
export async function readGrammarFile(name: GrammarFile): Promise<Uint8Array> {
  const places = [path.join(__dirname, name)];
  for (let folder = __dirname; folder !== path.dirname(folder); folder = path.dirname(folder))
    places.push(path.join(folder, 'node_modules', PACKAGES[name], name));
  for (const place of places) {
    const bytes = await readFile(place).catch(() => undefined);
    if (bytes) return bytes;
  }
  throw new Error(`${name} is not here`);
}
