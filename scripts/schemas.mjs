// Writes the JSON Schemas of the config families from their key tables: node scripts/schemas.mjs
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const bundle = path.join(root, 'out', 'schemas.mjs');
const folder = path.join(root, 'server', 'schemas');

await build({
  absWorkingDir: root,
  stdin: {
    contents: `export { DIALECTS } from './server/src/dialects/registry';
export { schemaOf } from './server/src/dialects/json-schema';`,
    resolveDir: root,
  },
  bundle: true,
  platform: 'node',
  format: 'esm',
  mainFields: ['module', 'main'],
  outfile: bundle,
  logLevel: 'warning',
});
const { DIALECTS, schemaOf } = await import(pathToFileURL(bundle).href);
await mkdir(folder, { recursive: true });
for (const dialect of DIALECTS) {
  const file = path.join(folder, `${dialect.id}.schema.json`);
  await writeFile(file, `${JSON.stringify(schemaOf(dialect), null, 2)}\n`);
}
await rm(bundle);
