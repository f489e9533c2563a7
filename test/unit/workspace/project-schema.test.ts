import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';
import { projectFileSchema } from '../../../server/src/workspace/project-schema';

const PUBLISHED = path.join(process.cwd(), 'server/schemas/project-file.schema.json');

describe('the schema of the project file', () => {
  it('is published as the vocabulary has it (else: npm run schemas)', async () => {
    const fresh = `${JSON.stringify(projectFileSchema(), null, 2)}\n`;
    assert.equal(await readFile(PUBLISHED, 'utf8'), fresh);
  });

  it('accepts the example and refuses what is no field value', async () => {
    const validate = new Ajv({ strict: false, code: { optimize: false } }).compile(projectFileSchema());
    const example = parse(await readFile(path.join(process.cwd(), 'examples/oomlint.yaml'), 'utf8'));
    assert.ok(validate(example), JSON.stringify(validate.errors));
    assert.ok(validate({ 'zero.reduceBucket': '5e8', model: 'a/b' }));
    assert.ok(!validate({ defaults: { optimizer: 'adamv' } }));
    assert.ok(!validate({ targets: { gpus: 0 } }));
    assert.ok(!validate({ files: [{ gpu: 'H100' }] }));
  });
});
