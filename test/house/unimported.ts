import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exportedNames } from './exported-names';
import { sourcesOf } from './imports';

/** Folders of what ships, and of what makes it. */
const PRODUCT = ['server/src', 'client', 'scripts', 'action', 'python'];
const WORD = /[A-Za-z_$][\w$]*/g;
/** Names in the braces of imports, and of what is exported again. */
const TAKEN = /^(?:import|export)\s(?:type\s)?[^;'"]*?\{([^}]*)\}\s*from\s/gm;
const WHOLE = /\b(?:import|require)\(|^import \* as |^declare module /m;
/** What VS Code calls by its name. */
const CALLED_FROM_OUTSIDE = new Set(['activate', 'deactivate']);

/** Names in the imports of a source; all its words where it loads modules whole, or adds to one. */
function namesTaken(source: string): string[] {
  if (WHOLE.test(source)) return source.match(WORD) ?? [];
  return [...source.matchAll(TAKEN)].flatMap(([, names = '']) => names.match(WORD) ?? []);
}

/** Exported names that no other source of some folders imports, with their files. */
function nowhereTaken(folders: readonly string[], root: string): { name: string; file: string }[] {
  const takers = new Map<string, Set<string>>();
  for (const file of folders.flatMap((folder) => sourcesOf(folder, root, /\.[cm]?[jt]s$/)))
    for (const name of namesTaken(readFileSync(path.join(root, file), 'utf8')))
      takers.set(name, (takers.get(name) ?? new Set()).add(file));
  return [...exportedNames(root)].flatMap(([name, files]) =>
    files
      .filter((file) => ![...(takers.get(name) ?? [])].some((taker) => taker !== file))
      .map((file) => ({ name, file })),
  );
}

/** Exports that no other source, script or test imports, as `file name`. */
export function unimported(root = '.'): string[] {
  return nowhereTaken([...PRODUCT, 'test'], root).map(({ name, file }) => `${file} ${name}`);
}

/** Exports that nothing needs but tests: neither another file of what ships nor their own, as `file name`. */
export function neededByTestsAlone(root = '.'): string[] {
  return nowhereTaken(PRODUCT, root)
    .filter(({ name }) => !CALLED_FROM_OUTSIDE.has(name))
    .filter(({ name, file }) => {
      const words = readFileSync(path.join(root, file), 'utf8').match(WORD) ?? [];
      return words.filter((word) => word === name).length < 2;
    })
    .map(({ name, file }) => `${file} ${name}`);
}
