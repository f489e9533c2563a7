// Bundles a TypeScript program of the tests and runs it with the arguments of this process.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** `entry` is a path from the root of the repository. */
export async function runBundled(entry) {
  const outfile = path.join(root, 'out', entry.replace(/^test\//, '').replace(/\.ts$/, '.cjs'));
  await mkdir(path.dirname(outfile), { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    mainFields: ['module', 'main'],
    // It asks where it lies itself, which no bundle knows.
    external: ['web-tree-sitter'],
    logLevel: 'warning',
  });
  await import(outfile);
}
