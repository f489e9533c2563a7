import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:interface|type|const|function\*?|class|let|enum) (\w+)/gm;

/** Names that the engine and the client export, with the files that declare each. */
export function exportedNames(root = '.'): ReadonlyMap<string, readonly string[]> {
  const declared = new Map<string, string[]>();
  for (const file of ['server/src', 'client/src', 'client/webview'].flatMap((folder) =>
    sourcesOf(folder, root),
  )) {
    const source = readFileSync(path.join(root, file), 'utf8');
    for (const name of new Set([...source.matchAll(DECLARED)].map(([, word = '']) => word)))
      declared.set(name, [...(declared.get(name) ?? []), file]);
  }
  return declared;
}
