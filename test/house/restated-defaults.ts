import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

const FOLDER = 'server/src/dialects';

/** A value that code falls back to where a key states none: a number, a switch or a word. */
const LITERAL = String.raw`(?<literal>-?\d[\d_.]*(?:e-?\d+)?|true|false|'[^']*')`;
const KEYS = String.raw`(?<keys>'[^']+'|\[[^\]]*\]|\`[^\`]+\`|[a-z]\w*)`;
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
/** `part ?? 1` of what was read before: `const part = section.integer('key')`. */
const VALUE = new RegExp(String.raw`\b(?<name>[a-z]\w*) \?\? ${LITERAL}`, 'g');
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
  /** Put together of a variable: the keys are all that it can be, by the words of the source. */
  readonly composed?: true;
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

/** Whether keys are put together of a variable: `\`trainer.${key}\``, or the variable alone. */
const isComposed = (keys: string) => /^[a-z]\w*$/.test(keys) || /\$\{\w+\}`$/.test(keys);

const wordsIn = (text: string) => [...text.matchAll(/'([\w.-]+)'/g)].map(([, word = '']) => word);

/** What a variable can be at a place of a source: what it runs over, what its function is called with, else any word of the source. */
function wordsOf(variable: string, source: string, at: number): string[] {
  const before = source.slice(0, at);
  const loops = new RegExp(
    String.raw`for \(const ${variable} of (\[[^\]]*\])|(\[[^\]]*\])\.\w+\(\(${variable}\b`,
    'g',
  );
  const helpers = new RegExp(String.raw`(?:const (\w+) = |function (\w+))(?:<[^>]*>)?\(${variable}\b`, 'g');
  const [loop] = [...before.matchAll(loops)].slice(-1);
  const [helper] = [...before.matchAll(helpers)].slice(-1);
  if (helper && helper.index > (loop?.index ?? -1)) {
    const calls = new RegExp(String.raw`\b${helper[1] ?? helper[2]}\(\s*('[\w.-]+')`, 'g');
    return [...source.matchAll(calls)].flatMap(([, word = '']) => wordsIn(word));
  }
  return wordsIn(loop?.[1] ?? loop?.[2] ?? source);
}

/** All that such keys can be; of a template with what stands before its last insertion. */
function composedKeys(keys: string, source: string, at: number): string[] {
  const before = /^`(?:.*\})?\.?(?<last>[^`}]*)\$\{\w+\}`$/.exec(keys)?.groups?.last ?? '';
  const variable = /(\w+)(?:\}`)?$/.exec(keys)?.[1] ?? '';
  return [...new Set(wordsOf(variable, source, at).map((word) => `${before}${word}`))].sort();
}

/** Reads of a source that fall back to a value of their own. */
export function defaultedReads(source: string, file: string): DefaultedRead[] {
  const found = (name: string, before: number, how: string) => {
    const given = new RegExp(
      String.raw`\b${name} = (?:[\w.]+\.(?:${how})\(|(?<at>nodeAt)\([\w.]+,)\s*${KEYS}\s*,?\s*\)`,
      'g',
    );
    const groups = [...source.slice(0, before).matchAll(given)].at(-1)?.groups;
    return (groups?.at ? pathOf(groups.keys ?? '') : groups?.keys) ?? '';
  };
  const named = (pattern: RegExp, how: string) =>
    [...source.matchAll(pattern)].map(({ groups, index }) => ({
      keys: found(groups?.name ?? '', index, how),
      groups,
      index,
    }));
  return [
    ...[...source.matchAll(AT)].map(({ groups, index }) => ({
      keys: pathOf(groups?.keys ?? ''),
      groups,
      index,
    })),
    ...[...source.matchAll(READ)].map(({ groups, index }) => ({ keys: groups?.keys ?? '', groups, index })),
    ...named(NODE, 'find'),
    ...named(VALUE, 'integer|number|flag|text'),
  ]
    .map(({ keys, groups, index }): DefaultedRead => {
      const value = literalValue(groups?.literal ?? '');
      return isComposed(keys)
        ? { file, keys: composedKeys(keys, source, index), value, composed: true }
        : { file, keys: keysOf(keys), value };
    })
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
