import assert from 'node:assert/strict';
import { savedStorages } from '../../../server/src/memory/play';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun } from '../memory/a-run';

const SIZES = {
  hidden_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  intermediate_size: 512,
  vocab_size: 1000,
  max_position_embeddings: 64,
};
const LLAMA = { ...SIZES, model_type: 'llama', architectures: ['LlamaForCausalLM'], hidden_act: 'silu' };
const FALCON = { ...SIZES, model_type: 'falcon', architectures: ['FalconForCausalLM'], alibi: false };

/** Bytes that a layer keeps. */
function kept(config: Record<string, unknown>, transformers: string, values: RunValues = {}): number {
  const run = aRun({
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'attention.implementation': 'sdpa',
    'batch.micro': 3,
    'batch.sequence': 64,
    'version.transformers': transformers,
    ...values,
  });
  const layer = traceRun(aModel(config), run).find(({ stage }) => stage.role === 'layer');
  assert.ok(layer);
  let bytes = 0;
  for (const storage of savedStorages(layer.tape)) bytes += storage.bytes;
  return bytes;
}

describe('transformers before 4.36', () => {
  it('has no SDPA: scores are kept as eager keeps them', () => {
    const eager: RunValues = { 'attention.implementation': 'eager' };
    assert.equal(kept(LLAMA, '4.35.2'), kept(LLAMA, '4.35.2', eager));
    assert.equal(kept(LLAMA, '4.28'), kept(LLAMA, '4.28', eager));
    assert.ok(kept(LLAMA, '4.36.0') < kept(LLAMA, '4.36.0', eager));
  });

  it('has FlashAttention 2, and Falcon calls SDPA by itself', () => {
    const flash: RunValues = { 'attention.implementation': 'flash2' };
    assert.equal(kept(LLAMA, '4.35.2', flash), kept(LLAMA, '4.36.0', flash));
    assert.equal(kept(FALCON, '4.35.2'), kept(FALCON, '4.36.0'));
  });
});
