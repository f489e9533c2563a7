import assert from 'node:assert/strict';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun } from '../memory/a-run';

const DEEPSEEK = {
  model_type: 'deepseek_v3',
  hidden_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 16,
  num_key_value_heads: 16,
  intermediate_size: 2048,
  first_k_dense_replace: 2,
  n_routed_experts: 8,
  num_experts_per_tok: 2,
  moe_intermediate_size: 512,
  vocab_size: 1024,
  q_lora_rank: 256,
  kv_lora_rank: 128,
  qk_nope_head_dim: 64,
  qk_rope_head_dim: 32,
  v_head_dim: 64,
};
const TOKENS = 1024;
const RANKS = 4;

/** Elements of what attention is given on one rank. */
function given(values: RunValues): number[] {
  const run = aRun({
    'batch.sequence': TOKENS,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'model.code': 'megatron',
    'hardware.gpus': RANKS,
    'parallel.tensor': RANKS,
    ...values,
  });
  const layer = traceRun(aModel(DEEPSEEK), run).find(({ stage }) => stage.role === 'layer');
  const attention = layer?.tape.operations.find(({ name }) => name === 'self_attn.attention');
  assert.ok(attention);
  return attention.inputs.map(({ elements }) => elements);
}

describe('latent attention under tensor parallelism', () => {
  const heads = 16 / RANKS;
  const whole = [TOKENS * heads * 96, TOKENS * heads * 96, TOKENS * heads * 64];

  it('sees the whole sequence with its share of the heads', () => {
    assert.deepEqual(given({}), whole);
  });

  // `multi_latent_attention.py`: the column-parallel projections up gather the sequence, and so is the rotated key.
  it('sees it where the sequence lies in parts outside of it, too', () => {
    assert.deepEqual(given({ 'parallel.sequence': true }), whole);
    assert.deepEqual(given({ 'parallel.sequence': true, 'model.code': 'torchtitan' }), whole);
  });
});
