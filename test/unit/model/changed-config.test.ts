import assert from 'node:assert/strict';
import { findModel, modelFromConfig } from '../../../server/src/model/catalog';
import { changedConfig } from '../../../server/src/model/changed-config';
import type { Model } from '../../../server/src/model/model';

describe('A named model with other sizes', () => {
  const named = (id: string): Model => {
    const model = findModel(id);
    assert.ok(model);
    return model;
  };
  const built = (id: string, changes: Readonly<Record<string, number>>): Model => {
    const changed = changedConfig(named(id).config, changes);
    assert.ok('config' in changed);
    const model = modelFromConfig(changed.config, id, 'inline');
    assert.ok(!('error' in model), JSON.stringify(model));
    return model;
  };

  it('GPT-2 with the tokens of the course has the 124.2 million parameters that its chapter 7 prints', () => {
    assert.equal(named('gpt2').parameters.total, 124_439_808);
    assert.equal(built('gpt2', { vocab_size: 50000 }).parameters.total, 124_242_432);
  });

  it('goes by the names that transformers takes for the same', () => {
    assert.equal(built('gpt2', { num_hidden_layers: 3 }).layers, 3);
    assert.equal(built('gpt2', { n_layer: 3 }).layers, 3);
  });

  it('has lists by layer that end where the layers do, and none that would have to be longer', () => {
    const model = named('LiquidAI/LFM2-1.2B');
    assert.ok(Array.isArray(model.config.layer_types), 'the model has a list');
    assert.equal(built('LiquidAI/LFM2-1.2B', { num_hidden_layers: 4 }).layers, 4);
    assert.deepEqual(changedConfig(model.config, { num_hidden_layers: 99 }), { missing: 'layer_types' });
  });

  it('is none where its config has no such field', () => {
    assert.deepEqual(changedConfig(named('gpt2').config, { head_dim: 128 }), { missing: 'head_dim' });
  });
});
