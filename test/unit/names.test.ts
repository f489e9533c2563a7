import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Sources of a folder. */
function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](dist|node_modules)[\\/]/.test(file));
}

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:interface|type|const|function\*?|class|let|enum) (\w+)/gm;

describe('names that files export', () => {
  it('mean one thing each: whoever reads one knows which is meant', () => {
    const declared = new Map<string, string[]>();
    for (const file of ['server/src', 'client/src', 'client/webview'].flatMap(sources))
      for (const name of new Set(
        [...readFileSync(file, 'utf8').matchAll(DECLARED)].map(([, word = '']) => word),
      ))
        declared.set(name, [...(declared.get(name) ?? []), file]);
    assert.ok(declared.size > 1500, `only ${declared.size} names were found`);
    assert.deepEqual(
      [...declared].filter(([, files]) => files.length > 1),
      [],
    );
  });
});
