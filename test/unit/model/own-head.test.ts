import assert from 'node:assert/strict';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from '../memory/a-run';

const TIED = { ...SMALL_LLAMA, tie_word_embeddings: true };
const TABLE = SMALL_LLAMA.vocab_size * SMALL_LLAMA.hidden_size;

function elements(config: Record<string, unknown>, values: RunValues = {}): number {
  const run = aRun(values);
  return sumWeights(traceRun(aModel(config), run), run).total;
}

describe('a head that a model ties to its embedding', () => {
  it('is a weight of its own in litgpt (`model.py`, `GPT.__init__`), whatever its loss', () => {
    const once = elements(TIED);
    assert.equal(elements(SMALL_LLAMA) - once, TABLE);
    for (const loss of ['head-chunks', 'row-chunks'] as const) {
      const values: RunValues = { 'model.code': 'litgpt', 'loss.implementation': loss };
      assert.equal(elements(TIED, values) - once, TABLE);
      // `train.tie_embeddings` of its pre-training.
      assert.equal(elements(TIED, { ...values, 'model.tied': true }), once);
    }
  });

  it('is one where a run states it, and stays one where the model has it', () => {
    assert.equal(elements(TIED, { 'model.tied': false }), elements(SMALL_LLAMA));
    assert.equal(elements(SMALL_LLAMA, { 'model.tied': true }), elements(SMALL_LLAMA));
  });
});
