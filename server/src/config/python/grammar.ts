import type { Parser } from 'web-tree-sitter';
import { MadeOfTexts } from '../../memo/made-of-texts';
import type { GrammarFile } from './grammar-files';
import { BlockParser } from './parse-blocks';
import { plainTree, type SyntaxNode } from './syntax-node';

/** Where the parser's files come from. Node reads them; the bundle for browsers leaves that module out. */
let readGrammar = async (name: GrammarFile): Promise<Uint8Array> =>
  (await import('./grammar-files')).readGrammarFile(name);

/** States who hands over the parser's files, where there is no disk to read them from. */
export function handGrammar(by: (name: GrammarFile) => Promise<Uint8Array>): void {
  readGrammar = by;
}

let parser: Parser | undefined;
let loading: Promise<void> | undefined;

async function load(): Promise<void> {
  const { Language, Parser: Loaded } = await import('web-tree-sitter');
  const wasmBinary = await readGrammar('web-tree-sitter.wasm');
  await Loaded.init({ wasmBinary });
  const language = await Language.load(await readGrammar('tree-sitter-python.wasm'));
  const made = new Loaded();
  made.setLanguage(language);
  parser = made;
}

/** Loads the grammar once; some 30 ms. Where it cannot be loaded, Python is not read: `parsePython` answers undefined. */
export function loadPython(): Promise<void> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

/** Characters of the texts whose trees are remembered: a program is read anew for each command that starts it, and with the modules that it imports. */
const MOST_CHARACTERS = 500_000;

/** The syntax tree of a Python text, also of a broken one. Undefined while the grammar is not loaded. */
export function parsePython(text: string): SyntaxNode | undefined {
  return parser && trees.of(text, text, () => blocks.tree(text));
}

const trees = new MadeOfTexts<SyntaxNode>(MOST_CHARACTERS);
const blocks = new BlockParser(parseWhole);

/** As `parsePython`, with nothing taken from texts that were parsed before. */
export function parseWhole(text: string): SyntaxNode | undefined {
  const tree = parser?.parse(text);
  if (!tree) return undefined;
  try {
    return plainTree(tree.walk());
  } finally {
    tree.delete();
  }
}
