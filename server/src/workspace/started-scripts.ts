import { nodeAt } from '../config/lookup';
import type { ConfigDocument, ConfigNode, MapEntry } from '../config/node';
import { textOf } from '../config/scalar';
import type { ComposedFiles, Composition } from './composition';
import { firstHere } from './links';

/** Scripts of one file that are looked at. */
const MOST_SCRIPTS = 8;
/** A longer one is not what a launch starts. Characters. */
const LONGEST = 400_000;
const IMPORT =
  /^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import\b|import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*))/gm;

/**
 * A script for the shell with what the scripts of Python that it starts import, as far as they lie here (`imports` of the root, by their
 * paths): a name alone tells of no program where another one of that name lies there. Undefined where none does.
 */
export async function withStarted(
  document: ConfigDocument,
  files: ComposedFiles,
): Promise<Composition | undefined> {
  const { root } = document;
  if (root?.kind !== 'map') return undefined;
  const entries: MapEntry[] = [];
  for (const { path, node } of scriptsOf(root)) {
    const text = await textOfScript(path, node.range.uri ?? document.uri, files);
    if (text === undefined) continue;
    const items = importsIn(text).map((name) => ({ ...node, value: name, text: name }));
    entries.push({ key: path, keyRange: node.range, value: { kind: 'list', items, range: node.range } });
  }
  if (entries.length === 0) return undefined;
  const imports: MapEntry = {
    key: 'imports',
    keyRange: root.range,
    value: { kind: 'map', entries, range: root.range },
  };
  const whole = { ...document, root: { ...root, entries: [...root.entries, imports] } };
  return {
    own: whole,
    document: whole,
    parts: [],
    imported: JSON.stringify(entries.map(({ key, value }) => [key, wordsOf(value)])),
  };
}

const wordsOf = (node: ConfigNode): readonly string[] =>
  node.kind === 'list' ? node.items.flatMap((item) => textOf(item) ?? []) : [];

function scriptsOf(root: ConfigNode) {
  const commands = nodeAt(root, ['commands']);
  const found = new Map<string, Extract<ConfigNode, { kind: 'scalar' }>>();
  for (const command of commands?.kind === 'list' ? commands.items : []) {
    const node = nodeAt(command, ['script']);
    const path = textOf(node);
    if (node?.kind === 'scalar' && path !== undefined && /\.py$/.test(path)) found.set(path, node);
  }
  return [...found].slice(0, MOST_SCRIPTS).map(([path, node]) => ({ path, node }));
}

async function textOfScript(path: string, from: string, files: ComposedFiles): Promise<string | undefined> {
  const uri = await firstHere(path, from, files);
  const text = uri === undefined ? undefined : await files.readText(uri);
  return text !== undefined && text.length <= LONGEST ? text : undefined;
}

/** Modules that a text imports, by their dotted names. */
function importsIn(text: string): string[] {
  const names = [...text.matchAll(IMPORT)].flatMap(([, from, plain = '']) =>
    from !== undefined ? [from] : plain.split(',').map((name) => name.trim()),
  );
  return [...new Set(names)];
}
