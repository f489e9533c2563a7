import assert from 'node:assert/strict';
import { catalogEntries, findModel, modelFromConfig } from '../../../server/src/model/catalog';

describe('model catalog', () => {
  it('counts the parameters of every entry exactly', () => {
    const wrong: string[] = [];
    for (const entry of catalogEntries()) {
      const model = findModel(entry.id);
      if (model?.parameters.total !== entry.params.total) {
        wrong.push(
          `${entry.id} (${entry.model_type}): ${model?.parameters.total}, not ${entry.params.total}`,
        );
      }
    }
    const entries = catalogEntries().length;
    console.log(`      ${entries - wrong.length} of ${entries} catalog entries match`);
    assert.deepEqual(wrong, []);
  });

  it('counts the active parameters of every sparse entry exactly', () => {
    const wrong: string[] = [];
    for (const entry of catalogEntries()) {
      const expected = entry.params.active ?? entry.params.total;
      const active = findModel(entry.id)?.parameters.active;
      if (active !== expected) wrong.push(`${entry.id}: ${active}, not ${expected}`);
    }
    assert.deepEqual(wrong, []);
  });

  it('explains every published count that differs', () => {
    for (const { id, params } of catalogEntries()) {
      if (params.published !== undefined) {
        assert.notEqual(params.published, params.total, id);
        assert.ok(params.difference, `${id} differs from its published count without a reason`);
      }
    }
  });

  it('finds models by alias, in any case, with and without the organisation', () => {
    const full = findModel('meta-llama/Llama-3.1-8B');
    assert.equal(full?.parameters.total, 8_030_261_248);
    assert.equal(findModel('META-LLAMA/llama-3.1-8b')?.parameters.total, full.parameters.total);
    assert.equal(findModel('Llama-3.1-8B')?.parameters.total, full.parameters.total);
    assert.equal(findModel('NousResearch/Hermes-3-Llama-3.1-8B')?.parameters.total, full.parameters.total);
    assert.equal(findModel('nobody/Llama-3.1-8B'), undefined);
    assert.equal(findModel('no such model'), undefined);
  });

  it('returns the same object for the same name', () => {
    assert.equal(findModel('gpt2'), findModel('gpt2'));
  });

  it('applies the fields in which an alias differs', () => {
    const base = findModel('meta-llama/Llama-2-7b-hf');
    const variant = findModel('microsoft/Orca-2-7b');
    assert.equal(variant?.vocabulary, 32003);
    assert.equal(variant?.parameters.total, (base?.parameters.total ?? 0) + 2 * 3 * 4096);
  });

  it('reports where an entry is not confirmed', () => {
    const unconfirmed = catalogEntries().filter((e) => e.verified === false);
    assert.equal(unconfirmed.length, 41);
    for (const entry of unconfirmed) {
      assert.ok(
        findModel(entry.id)?.notes.some((note) => note.includes('not confirmed')),
        entry.id,
      );
    }
  });

  it('builds the same model from a config.json', () => {
    const entry = catalogEntries().find((e) => e.id === 'Qwen/Qwen2.5-7B');
    assert.ok(entry);
    const model = modelFromConfig(
      { ...entry.config, model_type: entry.model_type },
      './config.json',
      'config.json',
    );
    assert.ok(!('error' in model));
    assert.equal(model.parameters.total, entry.params.total);
    assert.equal(model.origin, 'config.json');
  });
});
