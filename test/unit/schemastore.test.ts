import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import Ajv from 'ajv';
import { schemaByName } from '../../client/src/schema-by-name';

interface Entry {
  readonly name: string;
  readonly description: string;
  readonly fileMatch: readonly string[];
  readonly url: string;
}
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const entries: readonly Entry[] = read('docs/schemastore.json').schemas;
const { contributes, repository } = read('package.json');
/**
 * Schemas of YAML are given to the extension of that language by the server. To DeepSpeed's JSON none is given: its keys are completed and
 * explained by the server itself, and a schema beside it would do so again.
 */
assert.equal(contributes.jsonValidation, undefined);
assert.equal(contributes.yamlValidation, undefined);

describe('entries for the catalog of SchemaStore', () => {
  it('lead to schemas that are here, each of draft 7 with a title and words', () => {
    for (const { url, name, description } of entries) {
      const base = `${repository.url.replace('github.com', 'raw.githubusercontent.com')}/main/`;
      assert.ok(url.startsWith(base), url);
      const schema = read(url.slice(base.length));
      assert.equal(schema.$schema, 'http://json-schema.org/draft-07/schema#', name);
      assert.ok(schema.title && schema.description && description, name);
      // Its own check, for schemas of some size: https://github.com/SchemaStore/schemastore/blob/04bd1248/cli.js
      const options = {
        strict: true,
        strictTypes: false,
        strictTuples: false,
        allowMatchingProperties: true,
        // Of what is made of it nothing is run: to make it shorter takes long.
        code: { optimize: false },
      };
      assert.doesNotThrow(() => new Ajv(options).compile(schema), name);
    }
  });

  it('name no file that may be anything else, and none that the extension leaves alone', () => {
    for (const { fileMatch, url } of entries) {
      const schema = path.basename(url, '.schema.json');
      for (const pattern of fileMatch) {
        const ours = schemaByName(`/a/${pattern.replace('*', 'own')}`);
        assert.equal(ours, schema === 'deepspeed' ? undefined : schema, pattern);
        assert.match(pattern, /oomlint|ds_config|accelerate_config/);
      }
    }
    assert.equal(new Set(entries.map(({ name }) => name)).size, entries.length);
  });
});
