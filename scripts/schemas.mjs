// Writes the JSON Schemas in server/schemas from the tables that the engine reads with: npm run schemas
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
require('./typescript.cjs');
const { DIALECTS } = require('../server/src/dialects/registry.ts');
const { schemaOf } = require('../server/src/dialects/json-schema.ts');
const { vocabularySchema } = require('../server/src/dialects/vocabulary/vocabulary-schema.ts');
const { projectFileSchema } = require('../server/src/workspace/project-schema.ts');

const schemas = {
  ...Object.fromEntries(DIALECTS.map((dialect) => [dialect.id, schemaOf(dialect)])),
  vocabulary: vocabularySchema(),
  'project-file': projectFileSchema(),
};
for (const [name, schema] of Object.entries(schemas)) {
  const file = path.join(root, 'server', 'schemas', `${name}.schema.json`);
  await writeFile(file, `${JSON.stringify(schema, null, 2)}\n`);
}
