import assert from 'node:assert/strict';
import { catalogEntries, findModel } from '../../../server/src/model/catalog';
import type { Flow } from '../../../server/src/model/model';
import { ONE_TOKEN, type TraceSettings } from '../../../server/src/model/trace-settings';
import { Tracer } from '../../../server/src/model/tracer';

const SETTINGS: TraceSettings = { ...ONE_TOKEN, sequence: 8, targetSequence: 8, attention: 'flash2' };

/** Weights of the first layer, or of every stage. */
function weights(id: string, all = false): string[] {
  const model = findModel(id);
  assert.ok(model, id);
  const flow: Flow = new Map();
  const names: string[] = [];
  for (const stage of model.stages) {
    const tracer = new Tracer(SETTINGS);
    stage.trace(tracer, flow);
    if (!all && stage.role !== 'layer') continue;
    names.push(...tracer.finish().weights.map((w) => w.name));
    if (!all) break;
  }
  return names.sort();
}

describe('module names', () => {
  it('of Llama are those of transformers', () => {
    assert.deepEqual(weights('meta-llama/Llama-3.1-8B'), [
      'input_layernorm.weight',
      'mlp.down_proj.weight',
      'mlp.gate_proj.weight',
      'mlp.up_proj.weight',
      'post_attention_layernorm.weight',
      'self_attn.k_proj.weight',
      'self_attn.o_proj.weight',
      'self_attn.q_proj.weight',
      'self_attn.v_proj.weight',
    ]);
  });

  const layers: Readonly<Record<string, readonly string[]>> = {
    'Qwen/Qwen2.5-7B': ['self_attn.q_proj.bias', 'self_attn.o_proj.weight'],
    'Qwen/Qwen3-8B': ['self_attn.q_norm.weight', 'self_attn.k_norm.weight'],
    'microsoft/Phi-3-mini-4k-instruct': ['self_attn.qkv_proj.weight', 'mlp.gate_up_proj.weight'],
    'microsoft/phi-2': ['self_attn.dense.bias', 'mlp.fc1.weight'],
    gpt2: ['attn.c_attn.weight', 'attn.c_proj.weight', 'mlp.c_fc.bias', 'ln_1.weight'],
    'EleutherAI/pythia-6.9b': ['attention.query_key_value.weight', 'mlp.dense_h_to_4h.weight'],
    'tiiuae/falcon-7b': ['self_attention.query_key_value.weight', 'self_attention.dense.weight'],
    'bigscience/bloom-560m': ['self_attention.query_key_value.bias'],
    'THUDM/chatglm3-6b': ['self_attention.query_key_value.bias', 'mlp.dense_4h_to_h.weight'],
    'baichuan-inc/Baichuan2-7B-Base': ['self_attn.W_pack.weight'],
    'internlm/internlm2-7b': ['attention.wqkv.weight', 'feed_forward.w1.weight'],
    'google/gemma-2-9b': ['pre_feedforward_layernorm.weight', 'post_feedforward_layernorm.weight'],
    'mistralai/Mixtral-8x7B-v0.1': ['mlp.gate.weight', 'mlp.experts.gate_up_proj', 'mlp.experts.down_proj'],
    'deepseek-ai/DeepSeek-V3': ['self_attn.kv_a_proj_with_mqa.weight', 'self_attn.q_a_layernorm.weight'],
    'openai/gpt-oss-20b': ['self_attn.sinks', 'mlp.router.bias', 'mlp.experts.gate_up_proj_bias'],
    'google-bert/bert-base-uncased': ['attention.self.query.weight', 'attention.output.LayerNorm.bias'],
    'microsoft/deberta-v3-base': ['attention.self.query_proj.weight'],
    'google-t5/t5-small': ['layer.0.SelfAttention.q.weight', 'layer.1.DenseReluDense.wi.weight'],
    'facebook/bart-base': ['self_attn.q_proj.bias', 'fc1.weight'],
    'openai/whisper-tiny': ['self_attn.q_proj.bias', 'final_layer_norm.weight'],
    'google/vit-base-patch16-224': ['attention.attention.query.weight', 'intermediate.dense.weight'],
    'state-spaces/mamba-130m-hf': ['mixer.in_proj.weight', 'mixer.A_log', 'mixer.dt_proj.bias'],
  };
  for (const [id, expected] of Object.entries(layers)) {
    it(`of ${id} hold ${expected[0]}`, () => {
      const names = weights(id);
      for (const name of expected)
        assert.ok(names.includes(name), `${name} is not among ${names.join(', ')}`);
    });
  }

  it('name the modules that PEFT adapts by default', () => {
    for (const { id } of catalogEntries()) {
      const targets = findModel(id)?.loraDefaultTargets ?? [];
      const names = targets.length > 0 ? weights(id, true) : [];
      for (const target of targets) {
        assert.ok(
          names.some((name) => name.endsWith(`.${target}.weight`)),
          `${id} has no module ${target}`,
        );
      }
    }
  });

  it('are unique inside a stage', () => {
    for (const { id } of catalogEntries()) {
      const model = findModel(id);
      const flow: Flow = new Map();
      for (const stage of model?.stages ?? []) {
        const tracer = new Tracer(SETTINGS);
        stage.trace(tracer, flow);
        const names = tracer.finish().weights.map((w) => w.name);
        assert.equal(new Set(names).size, names.length, `${id}, ${stage.name}: ${names.join(', ')}`);
      }
    }
  });
});
