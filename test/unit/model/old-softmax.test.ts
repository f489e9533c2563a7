import assert from 'node:assert/strict';
import { savedStorages } from '../../../server/src/memory/play';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun } from '../memory/a-run';

const BERT = {
  model_type: 'bert',
  architectures: ['BertForSequenceClassification'],
  hidden_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  intermediate_size: 512,
  vocab_size: 1000,
  max_position_embeddings: 64,
  hidden_act: 'gelu',
};
const SAMPLES = 3;
const TOKENS = 64;
const WEIGHTS = SAMPLES * BERT.num_attention_heads * TOKENS * TOKENS;

/** Bytes that a layer keeps. */
function kept(torch: string, values: RunValues = {}): number {
  const run = aRun({
    'precision.weights': 'fp32',
    'precision.compute': 'fp32',
    'attention.implementation': 'eager',
    'batch.micro': SAMPLES,
    'batch.sequence': TOKENS,
    'version.torch': torch,
    ...values,
  });
  const layer = traceRun(aModel(BERT), run).find(({ stage }) => stage.role === 'layer');
  assert.ok(layer);
  let bytes = 0;
  for (const storage of savedStorages(layer.tape)) bytes += storage.bytes;
  return bytes;
}

describe('softmax before torch 1.11', () => {
  it('keeps the scores beside the weights: 4 bytes for each', () => {
    assert.equal(kept('1.10') - kept('1.11'), 4 * WEIGHTS);
    assert.equal(kept('1.9.1') - kept('2.8'), 4 * WEIGHTS);
    assert.equal(kept('1.12'), kept('2.8'));
  });

  it('keeps the fp32 copy of them under autocast', () => {
    const mixed: RunValues = { 'precision.scheme': 'autocast', 'precision.compute': 'fp16' };
    assert.equal(kept('1.10', mixed) - kept('1.11', mixed), 4 * WEIGHTS);
  });

  it('does not matter to fused attention', () => {
    const fused: RunValues = { 'attention.implementation': 'sdpa' };
    assert.equal(kept('1.10', fused), kept('2.8', fused));
  });
});
