import assert from 'node:assert/strict';
import { modelFromConfig } from '../../../server/src/model/catalog';
import { countParameters } from '../../../server/src/model/parameter-count';

const BASE = {
  model_type: 'nemotron-nas',
  hidden_size: 1024,
  num_attention_heads: 8,
  vocab_size: 32,
  tie_word_embeddings: false,
};
/** Norms and projections of an attention whose keys two heads share, and of an MLP of 2,816. */
const ATTENTION = 1024 + 2 * 1024 * 1024 + 2 * 1024 * 512;
const MLP = 1024 + 3 * 1024 * 2816;
const attention = { n_heads_in_group: 2 };
const none = { no_op: true };

function layers(...blocks: readonly object[]): number | string {
  const model = modelFromConfig({ ...BASE, block_configs: blocks }, 'x', 'inline');
  if ('error' in model) return String(model.error);
  return countParameters(model.stages).total - 2 * 32 * 1024 - 1024;
}

describe('layers of which a search left something out (Llama Nemotron)', () => {
  it('have what is left, with the norm before it', () => {
    // 2 / 3 of 4 times the width is 2,730, and 2,816 the next multiple of 256.
    const mlp = { ffn_mult: 4 };
    assert.equal(layers({ attention, ffn: mlp }), ATTENTION + MLP);
    assert.equal(layers({ attention: none, ffn: mlp }), MLP);
    assert.equal(layers({ attention, ffn: none }), ATTENTION);
    assert.equal(layers({ attention: none, ffn: mlp }, { attention, ffn: mlp }), ATTENTION + 2 * MLP);
  });

  it('are refused where a linear layer or a window took a place', () => {
    assert.match(
      String(layers({ attention: { ...attention, window_length: 8192 }, ffn: none })),
      /block_configs\[0\]\.attention\.window_length/,
    );
    assert.match(
      String(layers({ attention, ffn: { replace_with_linear: true } })),
      /ffn\.replace_with_linear/,
    );
  });
});
