import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

const POSITIONS = 2048;
const SIZES = { n_embd: 256, n_layer: 3, n_head: 4, n_positions: POSITIONS, vocab_size: 1000 };
const NEO = {
  model_type: 'gpt_neo',
  hidden_size: 256,
  num_layers: 3,
  num_heads: 4,
  attention_types: [[['global', 'local', 'global'], 1]],
  max_position_embeddings: POSITIONS,
  vocab_size: 1000,
};

/** Bytes beside the parameters, in fp32. */
function beside(config: Record<string, unknown>, values: RunValues): number {
  const run = aRun({ 'precision.weights': 'fp32', 'batch.sequence': 16, ...values });
  const { parts, model } = estimate({ run, model: aModel(config), accelerator: CARD });
  const weights = parts.find(({ category }) => category === 'weights')?.bytes ?? 0;
  return weights - 4 * model.totalParameters;
}

describe('masks of all positions that models keep as buffers', () => {
  const mask = POSITIONS ** 2;
  const gpt2 = { ...SIZES, model_type: 'gpt2' };

  // `GPTBigCodeModel.bias`: 67 MB of StarCoder.
  it('one of GPT-BigCode, one of each layer of GPT-Neo', () => {
    for (const version of ['4.57', '5.23']) {
      const at = { 'version.transformers': version };
      assert.equal(beside({ ...SIZES, model_type: 'gpt_bigcode' }, at), mask, version);
      assert.equal(beside(NEO, at), 3 * mask, version);
    }
  });

  it('one of each layer of GPT-2, before transformers 5.2', () => {
    assert.equal(beside(gpt2, { 'version.transformers': '4.57' }), 3 * mask);
    assert.equal(beside(gpt2, { 'version.transformers': '5.2' }), 0);
    assert.equal(beside(gpt2, { 'version.transformers': '5.23' }), 0);
  });
});
