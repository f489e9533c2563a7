import type { Problem } from '../text/problem';
import type { TrackedFiles } from './file-cache';
import { foldersAround } from './folders-around';

/** Words that the definitions of arguments hold: names of fields, flags and texts. */
const WORD = /[A-Za-z_][\w-]*/g;

/**
 * Words of the files that define a framework's arguments, where its source lies around a config: a copy that people change takes keys
 * and values that no release knows. Empty where there is no such source.
 */
export async function wordsOfSource(
  uri: string,
  definitions: readonly string[],
  files: TrackedFiles,
): Promise<ReadonlySet<string>> {
  if (definitions.length === 0) return new Set();
  const words = await files.gist(async (asked) => {
    const texts: string[] = [];
    for (const folder of foldersAround(uri, asked))
      for (const path of definitions) {
        const text = await asked.readText(`${folder.replace(/\/$/, '')}/${path}`);
        if (text !== undefined) texts.push(text);
      }
    return [...new Set(texts.join('\n').match(WORD))].join(' ');
  });
  return new Set(words.split(' '));
}

/** A key or a choice that no release has, which the source around it defines. */
export function isDefinedThere({ code, range }: Problem, text: string, words: ReadonlySet<string>): boolean {
  if ((code !== 'unknown-key' && code !== 'wrong-type') || range.start.line !== range.end.line) return false;
  const line = text.split(/\r?\n/)[range.start.line] ?? '';
  const word = line.slice(range.start.character, range.end.character).replace(/^['"]|['"]$/g, '');
  return words.has(word) || words.has(word.replace(/^-+/, '').replaceAll('-', '_'));
}
