// Writes the JSON Schemas in server/schemas from the tables that the engine reads with: npm run schemas
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
require('./typescript.cjs');
const { SCHEMAS } = require('../server/src/features/editor-schema.ts');

for (const [name, make] of SCHEMAS) {
  const file = path.join(root, 'server', 'schemas', `${name}.schema.json`);
  await writeFile(file, `${JSON.stringify(make(), null, 2)}\n`);
}
