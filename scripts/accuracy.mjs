// Scores the estimates against published measurements: node scripts/accuracy.mjs [--rows FILE] [--estimates OUT] [--misses]
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const outfile = path.join(root, 'out', 'accuracy', 'index.cjs');

await mkdir(path.dirname(outfile), { recursive: true });
await build({
  absWorkingDir: root,
  entryPoints: ['test/accuracy/index.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  mainFields: ['module', 'main'],
  logLevel: 'warning',
});
await import(outfile);
