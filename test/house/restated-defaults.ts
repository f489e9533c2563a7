import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

const FOLDER = 'server/src/dialects';

/** A value that code falls back to where a key states none: a number, a switch or a word. */
const LITERAL = String.raw`(?<literal>-?\d[\d_.]*(?:e-?\d+)?|true|false|'[^']*')`;
const KEYS = String.raw`(?<keys>'[^']+'|\[[^\]]*\]|\`[^\`]+\`)`;
/** `section.integer('key') ?? 1`, and the same by way of a node: `integerOf(section.find('key')?.node) ?? 1`. */
const READ = new RegExp(
  String.raw`\.(?:integer|number|flag|text|find)\(\s*${KEYS}\s*,?\s*\)(?:\?\.node\))?\s*\?\?\s*${LITERAL}`,
  'g',
);
/** `integerOf(nodeAt(root, 'block.key')) ?? 1`, of a path as text or as a list. */
const AT = new RegExp(
  String.raw`\b(?:integer|number|flag|text)Of\(\s*nodeAt\([\w.]+,\s*${KEYS}\s*,?\s*\),?\s*\)\s*\?\?\s*${LITERAL}`,
  'g',
);
/** `integerOf(found?.node) ?? 1` of a key that was found before: `const found = section.find('key')`, or `nodeAt(root, 'key')`. */
const NODE = new RegExp(
  String.raw`\b(?:integer|number|flag|text)Of\((?<name>\w+)(?:\??\.node)?\)\s*\?\?\s*${LITERAL}`,
  'g',
);
const OR_DEFAULT = new RegExp(
  String.raw`\.(?<type>integer|number|flag|text)OrDefault\(\s*${KEYS}\s*,?\s*\)`,
  'g',
);

/** A read of keys of a family, with the value that it falls back to. */
export interface DefaultedRead {
  readonly file: string;
  /** As they stand in the source, without what a template puts before them. */
  readonly keys: readonly string[];
  readonly value: unknown;
}

function literalValue(literal: string): unknown {
  if (literal === 'true' || literal === 'false') return literal === 'true';
  return literal.startsWith("'") ? literal.slice(1, -1) : Number(literal.replaceAll('_', ''));
}

/** Keys of a literal or a list of them; of a template what follows its last insertion. */
function keysOf(text: string): string[] {
  return [...text.matchAll(/'([^']+)'|`(?:[^`]*\})?\.?([^`}]+)`/g)]
    .map(([, plain, end]) => plain ?? end ?? '')
    .filter((key) => /^[\w.-]+$/.test(key));
}

/** The path of a node as one key: `['optimizer', 'type']` is `'optimizer.type'`. */
function pathOf(text: string): string {
  return text.startsWith('[') ? `'${keysOf(text).join('.')}'` : text;
}

/** Reads of a source that fall back to a value of their own. */
export function defaultedReads(source: string, file: string): DefaultedRead[] {
  const found = (name: string, before: number) => {
    const given = new RegExp(
      String.raw`\b${name} = (?:\w+\.find\(|(?<at>nodeAt)\([\w.]+,)\s*${KEYS}\s*,?\s*\)`,
      'g',
    );
    const groups = [...source.slice(0, before).matchAll(given)].at(-1)?.groups;
    return (groups?.at ? pathOf(groups.keys ?? '') : groups?.keys) ?? '';
  };
  return [
    ...[...source.matchAll(AT)].map(({ groups }) => ({ keys: pathOf(groups?.keys ?? ''), groups })),
    ...[...source.matchAll(READ)].map(({ groups }) => ({ keys: groups?.keys ?? '', groups })),
    ...[...source.matchAll(NODE)].map(({ groups, index }) => ({
      keys: found(groups?.name ?? '', index),
      groups,
    })),
  ]
    .map(({ keys, groups }) => ({ file, keys: keysOf(keys), value: literalValue(groups?.literal ?? '') }))
    .filter(({ keys }) => keys.length > 0);
}

/** Reads of a source that fall back to what the row has: the first of their keys, and the type that its default must have. */
export function rowDefaultedReads(source: string): { readonly key: string; readonly type: string }[] {
  return [...source.matchAll(OR_DEFAULT)].flatMap(({ groups }) =>
    keysOf(groups?.keys ?? '')
      .slice(0, 1)
      .map((key) => ({ key, type: { flag: 'boolean', text: 'string' }[groups?.type ?? ''] ?? 'number' })),
  );
}

/** Sources of a folder of families, by their names. */
export function sourcesIn(folder: string, root = '.'): { readonly name: string; readonly source: string }[] {
  return sourcesOf(path.join(FOLDER, folder), root).map((file) => ({
    name: path.relative(FOLDER, file).replaceAll('\\', '/'),
    source: readFileSync(path.join(root, file), 'utf8'),
  }));
}
