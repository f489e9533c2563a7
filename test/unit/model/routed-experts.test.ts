import assert from 'node:assert/strict';
import { languageConfig, routedExperts } from '../../../server/src/model/routed-experts';

describe('routed experts', () => {
  it('are counted by the name that the family has for them, of the language model alone', () => {
    for (const key of ['num_local_experts', 'num_experts', 'n_routed_experts', 'moe_num_experts']) {
      assert.equal(routedExperts({ [key]: 64 }), 64, key);
      assert.equal(routedExperts({ [key]: 2, text_config: { [key]: 128 } }), 128, key);
    }
    assert.equal(routedExperts({ num_local_experts: 0, n_routed_experts: 8 }), 8);
    for (const config of [
      undefined,
      {},
      { num_experts: null },
      { num_experts: 'many' },
      { text_config: null },
    ])
      assert.equal(routedExperts(config), 0);
  });

  it('are those of the config that stands in another, where one does', () => {
    const inner = { model_type: 'gemma4_text' };
    assert.equal(languageConfig({ model_type: 'gemma4', text_config: inner }), inner);
    const whole = { model_type: 'mixtral' };
    assert.equal(languageConfig(whole), whole);
  });
});
