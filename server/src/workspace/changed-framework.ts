import { onDemand } from '../memo/on-demand';
import type { Problem } from '../text/problem';
import type { TrackedFiles } from './file-cache';
import { foldersAround } from './folders-around';

/** Words that the definitions of arguments hold: names of fields, flags and texts. */
const WORD = /[A-Za-z_][\w-]*/g;

/** An argument of argparse, up to the next one: `"--optimizer.name", type=str, choices=[...]`. */
const ARGUMENT = /["']--([\w.-]+)["']((?:(?!add_argument\()[\s\S])*)/g;
/** A field of a dataclass: `name: Literal["a", "b"] = "a"`. */
const FIELD = /^[ \t]+(\w+)[ \t]*:[ \t]*(?:Optional\[)?(str\b|Literal\[[^\]]*\])/gm;
const TEXT = /(["'])(.*?)\1/g;

/** What stands for any text among the values that an argument takes. */
const ANY = '*';

/** Which texts arguments take as their definitions have it, `name=value` each, and `name=*` where it is any. */
function textsTaken(source: string): readonly string[] {
  const taken = (name: string, choices: string | undefined) => {
    const own = name.slice(name.lastIndexOf('.') + 1);
    const texts = choices === undefined ? [ANY] : [...choices.matchAll(TEXT)].map(([, , text = '']) => text);
    return texts.map((text) => `${own}=${text}`);
  };
  return [
    ...[...source.matchAll(ARGUMENT)].flatMap(([, name = '', rest = '']) => {
      const choices = /choices\s*=\s*[[(]([^\])]*)[\])]/.exec(rest)?.[1];
      return choices === undefined && !/type\s*=\s*str\b/.test(rest) ? [] : taken(name, choices);
    }),
    ...[...source.matchAll(FIELD)].flatMap(([, name = '', type = '']) =>
      taken(name, type === 'str' ? undefined : type),
    ),
  ];
}

/** Where a file may lie: `*` is any folder, as copies give the package a name of their own. */
async function placesOf(base: string, path: string, files: TrackedFiles): Promise<readonly string[]> {
  const [before, after] = path.split('*');
  if (before === undefined || after === undefined) return [`${base}/${path}`];
  const folders = (await files.listFolders(`${base}/${before}`.replace(/\/$/, ''))) ?? [];
  return folders.slice(0, MOST_PACKAGES).map((name) => `${base}/${before}${encodeURI(name)}${after}`);
}

/** Packages of one project: far above any. */
const MOST_PACKAGES = 20;

/**
 * Words of the files that define a framework's arguments, and the texts that these take, where its source lies around a config: a copy
 * that people change takes keys and values that no release knows. Empty where there is no such source.
 */
export async function wordsOfSource(
  uri: string,
  definitions: readonly string[],
  files: TrackedFiles,
): Promise<ReadonlySet<string>> {
  if (definitions.length === 0) return new Set();
  const words = await files.gist(async (asked) => {
    const texts: string[] = [];
    for (const folder of foldersAround(uri, asked)) {
      const base = folder.replace(/\/$/, '');
      for (const path of definitions)
        for (const place of await placesOf(base, path, asked)) {
          const text = await asked.readText(place);
          if (text !== undefined) texts.push(text);
        }
    }
    const source = texts.join('\n');
    return [...new Set([...(source.match(WORD) ?? []), ...textsTaken(source)])].join('\n');
  });
  return new Set(words.split('\n'));
}

/** Whether a problem of a text is a key or a choice that no release has, which the source around it defines. */
export function definedThere(text: string, words: ReadonlySet<string>): (problem: Problem) => boolean {
  // However many problems there are: the text is split once, and only for one that may be such.
  const lines = onDemand(() => text.split(/\r?\n/));
  return ({ code, range }) => {
    if ((code !== 'unknown-key' && code !== 'wrong-type') || range.start.line !== range.end.line)
      return false;
    const line = lines()[range.start.line] ?? '';
    const word = line.slice(range.start.character, range.end.character).replace(/^['"]|['"]$/g, '');
    if (words.has(word) || words.has(word.replace(/^-+/, '').replaceAll('-', '_'))) return true;
    const key = /(\w+)["']?\s*[:= ]\s*$/.exec(line.slice(0, range.start.character))?.[1];
    return code === 'wrong-type' && (words.has(`${key}=${ANY}`) || words.has(`${key}=${word}`));
  };
}
