import type { PyProgram, PyValue } from './value';

/** A folder that a program puts where Python looks for modules. */
interface SearchedFolder {
  readonly path: string;
  /** Before the script's own. */
  readonly isFirst: boolean;
}

/** `sys.path.append(...)`, `sys.path.insert(0, ...)` and `sys.path.extend([...])`, as far as the folders are known, in the order that Python looks. */
export function searchedFolders({ calls }: PyProgram): readonly SearchedFolder[] {
  const first: SearchedFolder[] = [];
  const last: SearchedFolder[] = [];
  for (const { callee, positional, range } of calls) {
    const method = /^sys\.path\.(append|insert|extend)$/.exec(callee)?.[1];
    // Modules put there what they take for their own place.
    if (method === undefined || range.uri !== undefined) continue;
    const given = method === 'insert' ? positional[1] : positional[0];
    const folders = (given?.kind === 'list' ? given.items : given ? [given] : []).flatMap(pathsOf);
    if (method === 'insert') first.unshift(...folders.map((path) => ({ path, isFirst: true })));
    else last.push(...folders.map((path) => ({ path, isFirst: false })));
  }
  return [...first, ...last];
}

const pathsOf = (value: PyValue): readonly string[] =>
  value.kind === 'scalar' && typeof value.value === 'string' ? [value.value] : [];
