import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exportedNames } from './exported-names';
import { sourcesOf } from './imports';

const FOLDERS = ['server/src', 'client', 'scripts', 'test', 'action', 'python'];
/** Names in the braces of imports, and of what is exported again. */
const TAKEN = /^(?:import|export)\s(?:type\s)?[^;'"]*?\{([^}]*)\}\s*from\s/gm;
const WHOLE = /\b(?:import|require)\(|^import \* as |^declare module /m;

/** Names in the imports of a source; all its words where it loads modules whole, or adds to one. */
function namesTaken(source: string): string[] {
  if (WHOLE.test(source)) return source.match(/[A-Za-z_$][\w$]*/g) ?? [];
  return [...source.matchAll(TAKEN)].flatMap(([, names = '']) => names.match(/[A-Za-z_$][\w$]*/g) ?? []);
}

/** Exported names that no other source, script or test imports, as `file name`. */
export function unimported(root = '.'): string[] {
  const takers = new Map<string, Set<string>>();
  for (const file of FOLDERS.flatMap((folder) => sourcesOf(folder, root, /\.[cm]?[jt]s$/)))
    for (const name of namesTaken(readFileSync(path.join(root, file), 'utf8')))
      takers.set(name, (takers.get(name) ?? new Set()).add(file));
  return [...exportedNames(root)].flatMap(([name, files]) =>
    files
      .filter((file) => ![...(takers.get(name) ?? [])].some((taker) => taker !== file))
      .map((file) => `${file} ${name}`),
  );
}
