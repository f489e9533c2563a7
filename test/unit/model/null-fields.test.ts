import assert from 'node:assert/strict';
import { traceRun } from '../../../server/src/memory/traced-run';
import { aModel, aRun } from '../memory/a-run';

const MISTRAL = {
  model_type: 'mistral',
  hidden_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  intermediate_size: 2048,
  vocab_size: 1000,
};

/** Bytes that autograd keeps of a layer over 8,192 tokens. */
function kept(config: Record<string, unknown>): number {
  const run = aRun({
    'batch.sequence': 8192,
    'precision.weights': 'bf16',
    'attention.implementation': 'sdpa',
  });
  const layer = traceRun(aModel(config), run).find(({ stage }) => stage.role === 'layer');
  const storages = new Set(layer?.tape.operations.flatMap(({ saves }) => saves));
  return [...storages].reduce((sum, { bytes }) => sum + bytes, 0);
}

describe('a field that is null', () => {
  // Mistral v0.2, v0.3, Nemo, Small and their kin: `MistralConfig(sliding_window=None)` has none, `MistralConfig()` 4,096.
  it('is not the default of its class: null switches a sliding window off', () => {
    const none = kept({ ...MISTRAL, sliding_window: null });
    assert.equal(none, kept({ ...MISTRAL, sliding_window: 131072 }));
    assert.equal(kept(MISTRAL), kept({ ...MISTRAL, sliding_window: 4096 }));
    assert.ok(kept(MISTRAL) > none);
  });

  // `if self.num_key_value_heads is None: self.num_key_value_heads = self.num_attention_heads`; the class has 8.
  it('is what the class makes of None', () => {
    assert.equal(aModel({ ...MISTRAL, num_key_value_heads: null }).keyValueHeads, 16);
    assert.equal(aModel({ ...MISTRAL, num_key_value_heads: undefined }).keyValueHeads, 8);
  });

  it('is as if it were left out where the model cannot be without it', () => {
    assert.equal(aModel({ ...MISTRAL, vocab_size: null }).vocabulary, 32000);
  });
});
