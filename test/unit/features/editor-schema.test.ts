import assert from 'node:assert/strict';
import Ajv from 'ajv';
import { editorSchema, hasSchema, SCHEMAS } from '../../../server/src/features/editor-schema';
import { RUSSIAN } from '../../../server/src/wording/russian';
import { speak } from '../../../server/src/wording/say';

type Schema = Record<string, unknown>;
const properties = (schema: unknown) => (schema as { properties: Record<string, Schema> }).properties;

describe('schemas for an editor that completes by them', () => {
  afterEach(() => speak('en', undefined));

  it('explain every key and complain about nothing that the server reports', () => {
    for (const name of SCHEMAS.keys()) {
      const schema = editorSchema(name);
      const accepts = new Ajv({ strict: false, code: { optimize: false } }).compile(schema as Schema);
      for (const key of Object.keys(properties(schema) ?? {}))
        assert.ok(accepts({ [key]: '${from.elsewhere}' }), `${name}: ${key}`);
    }
  });

  it('keep what is completed of keys, and their words', () => {
    const { deepspeed_config, mixed_precision } = properties(editorSchema('accelerate'));
    const { zero_stage } = properties(deepspeed_config);
    assert.ok(String(zero_stage?.description).length > 10);
    // Values are offered by the server, which knows what the run would need with each.
    assert.doesNotMatch(JSON.stringify(mixed_precision?.anyOf), /"bf16"/);
    assert.doesNotMatch(JSON.stringify(editorSchema('accelerate')), /"(?:enum|default)":[^{]|"boolean"/);
    assert.match(JSON.stringify(editorSchema('project-file')), /"enum":\["off","hint"/);
  });

  it('explain in the language of the person', () => {
    speak('ru', RUSSIAN);
    for (const name of ['axolotl', 'project-file']) {
      const explained = Object.values(properties(editorSchema(name))).map(({ description }) => description);
      const russian = explained.filter((text) => /[а-я]/.test(String(text)));
      assert.ok(russian.length > 0.9 * explained.length, `${name}: ${russian.length} of ${explained.length}`);
    }
  });

  it('are there for families of its own alone', () => {
    assert.ok(hasSchema('axolotl') && hasSchema('project-file') && hasSchema('vocabulary'));
    assert.ok(!hasSchema('our-trainer'));
    assert.equal(editorSchema('our-trainer'), null);
  });
});
