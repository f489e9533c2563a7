// Writes the JSON Schemas of the config families from their key tables: node scripts/schemas.mjs
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const bundle = path.join(root, 'out', 'schemas.cjs');
const folder = path.join(root, 'server', 'schemas');

await build({
  absWorkingDir: root,
  stdin: {
    contents: `export { DIALECTS } from './server/src/dialects/registry';
export { schemaOf } from './server/src/dialects/json-schema';
export { vocabularySchema } from './server/src/dialects/vocabulary/vocabulary-schema';`,
    resolveDir: root,
  },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  mainFields: ['module', 'main'],
  outfile: bundle,
  logLevel: 'warning',
});
const { DIALECTS, schemaOf, vocabularySchema } = createRequire(import.meta.url)(bundle);
await mkdir(folder, { recursive: true });
for (const dialect of DIALECTS) {
  const file = path.join(folder, `${dialect.id}.schema.json`);
  await writeFile(file, `${JSON.stringify(schemaOf(dialect), null, 2)}\n`);
}
await writeFile(
  path.join(folder, 'vocabulary.schema.json'),
  `${JSON.stringify(vocabularySchema(), null, 2)}\n`,
);
await rm(bundle);
