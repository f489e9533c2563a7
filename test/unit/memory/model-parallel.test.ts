import * as assert from 'node:assert/strict';
import { playForward, rounded, savedStorages } from '../../../server/src/memory/play';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun } from './a-run';

/** GPT of Korthikanti et al. 2022 in small: h 1024, a 16, s 2048, b 2, tanh GELU, dropout everywhere. */
const GPT = {
  model_type: 'gpt2',
  n_embd: 1024,
  n_layer: 4,
  n_head: 16,
  n_positions: 2048,
  vocab_size: 51200,
  activation_function: 'gelu_new',
  resid_pdrop: 0.1,
  embd_pdrop: 0.1,
  attn_pdrop: 0.1,
};
const MEGATRON: RunValues = {
  'model.code': 'megatron',
  'precision.scheme': 'megatron',
  'precision.compute': 'fp16',
  'attention.implementation': 'eager',
  'batch.micro': 2,
  'batch.sequence': 2048,
  'hardware.gpus': 8,
};
const LLAMA = {
  model_type: 'llama',
  hidden_size: 2048,
  num_hidden_layers: 4,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  intermediate_size: 5632,
  vocab_size: 32000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
};

function layerOf(model: Record<string, unknown>, values: RunValues): TracedStage {
  const layer = traceRun(aModel(model), aRun(values)).find((t) => t.stage.role === 'layer');
  assert.ok(layer);
  return layer;
}

/** Bytes that a layer in the middle of the model keeps: saved storages, its own input included, not its output. */
function keptBy(layer: TracedStage): number {
  let bytes = 0;
  for (const storage of savedStorages(layer.tape)) bytes += rounded(storage.bytes);
  return bytes;
}

describe('activations of a Megatron GPT layer (Korthikanti et al. 2022, table 2)', () => {
  const [s, b, h, a] = [2048, 2, 1024, 16];
  const sbh = s * b * h;
  const scores = (5 * a * s) / h;
  /** Mean and deviation of two norms, fp32, which the paper leaves out. */
  const statistics = (t: number) => (2 * 2 * 4 * s * b) / t;
  const kept = (values: RunValues) => keptBy(layerOf(GPT, { ...MEGATRON, ...values }));

  it('no parallelism: sbh (34 + 5 as / h)', () => {
    assert.equal(kept({}), sbh * (34 + scores) + statistics(1));
  });

  for (const t of [2, 4, 8]) {
    it(`tensor parallel ${t}: sbh (10 + 24 / t + 5 as / (h t))`, () => {
      assert.equal(kept({ 'parallel.tensor': t }), sbh * (10 + (24 + scores) / t) + statistics(1));
    });

    it(`tensor and sequence parallel ${t}: sbh / t (34 + 5 as / h)`, () => {
      assert.equal(
        kept({ 'parallel.tensor': t, 'parallel.sequence': true }),
        (sbh * (34 + scores)) / t + statistics(t),
      );
    });
  }

  it('sequence parallelism alone does nothing', () => {
    assert.equal(kept({ 'parallel.sequence': true }), kept({}));
  });
});

describe('tensor parallelism', () => {
  const base: RunValues = {
    'batch.micro': 1,
    'batch.sequence': 2048,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'hardware.gpus': 16,
  };
  const weightsOf = (values: RunValues, model: Record<string, unknown> = LLAMA) => {
    const weights = new Map<string, { elements: number; local: number }>();
    for (const { stage, tape } of traceRun(aModel(model), aRun({ ...base, ...values }))) {
      for (const w of tape.weights) {
        if (stage.role !== 'layer' || !weights.has(w.name))
          weights.set(w.name, { elements: w.elements, local: w.localElements });
      }
    }
    return weights;
  };

  it('splits projections by column and row, and leaves norms whole', () => {
    const weights = weightsOf({ 'parallel.tensor': 4 });
    const share = (name: string) => {
      const weight = weights.get(name);
      return weight && weight.elements / weight.local;
    };
    for (const name of ['q_proj', 'k_proj', 'v_proj', 'o_proj'])
      assert.equal(share(`self_attn.${name}.weight`), 4);
    for (const name of ['gate_proj', 'up_proj', 'down_proj']) assert.equal(share(`mlp.${name}.weight`), 4);
    assert.equal(share('input_layernorm.weight'), 1);
  });

  it('copies key heads where there are fewer than ranks, and counts the model as it is', () => {
    const weights = weightsOf({ 'parallel.tensor': 16 });
    assert.deepEqual(weights.get('self_attn.k_proj.weight'), {
      elements: 1024 * 2048,
      local: 128 * 2048,
    });
  });

  it('pads the vocabulary in Megatron, in memory only', () => {
    const model = { ...LLAMA, vocab_size: 50257 };
    const megatron = { 'model.code': 'megatron', 'precision.scheme': 'megatron' } as const;
    const padded = weightsOf({ ...megatron, 'parallel.tensor': 8 }, model).get('lm_head.weight');
    // `vocab_size_with_padding`: the next multiple of 128 x 8.
    assert.deepEqual(padded, { elements: 50257 * 2048, local: (51200 * 2048) / 8 });
    const single = weightsOf(megatron, model).get('embed_tokens.weight');
    assert.deepEqual(single, { elements: 50257 * 2048, local: 50304 * 2048 });
    const chosen = weightsOf({ ...megatron, 'parallel.vocabularyMultiple': 1 }, model);
    assert.equal(chosen.get('lm_head.weight')?.local, 50257 * 2048);
    const titan = weightsOf({ 'model.code': 'torchtitan', 'parallel.tensor': 8 }, model);
    assert.equal(titan.get('lm_head.weight')?.local, Math.ceil(50257 / 8) * 2048);
  });

  it('transformers keeps embedding and logits whole on every rank, Megatron splits both', () => {
    const logits = (values: RunValues) => {
      const head = traceRun(aModel(LLAMA), aRun({ ...base, 'parallel.tensor': 4, ...values })).at(-1);
      assert.ok(head);
      return playForward(head.tape, { grad: true, consumed: new Set() }).peakBytes;
    };
    const whole = 2048 * 32000;
    // Logits, gathered logits, fp32 copy and log-softmax against logits and one fp32 copy of a quarter.
    assert.ok(logits({}) > 10 * whole);
    const megatron = { 'model.code': 'megatron', 'precision.scheme': 'megatron' } as const;
    assert.ok(logits(megatron) < (7 * whole) / 4);
    assert.equal(weightsOf({ 'parallel.tensor': 4 }).get('embed_tokens.weight')?.local, 32000 * 2048);
  });

  it('torchtitan keeps the gathered input of attention and MLP, Megatron its own part', () => {
    const t = 4;
    const sbh = 2048 * 2048;
    const kept = (code: 'megatron' | 'torchtitan') =>
      keptBy(
        layerOf(LLAMA, {
          ...base,
          'model.code': code,
          'precision.scheme': code === 'megatron' ? 'megatron' : 'native',
          'parallel.tensor': t,
          'parallel.sequence': true,
        }),
      );
    const megatron = kept('megatron');
    // Norm inputs and outputs 8, queries and result 4, keys and values 2, gate, up and product 6 f / h; row statistics.
    const rows = 2048 * 4;
    const expected = (sbh * (8 + 4 + 2) + 6 * 2048 * 5632) / t + (2 * rows) / t + (16 * rows) / t;
    assert.equal(megatron, expected);
    assert.ok(kept('torchtitan') > megatron + 2 * 2 * sbh * (1 - 1 / t));
  });
});

describe('context parallelism', () => {
  const base: RunValues = {
    'batch.micro': 1,
    'batch.sequence': 8192,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'hardware.gpus': 8,
  };
  const attentionOf = (values: RunValues) => {
    const { tape } = layerOf(LLAMA, { ...base, ...values });
    const op = tape.operations.find((o) => o.name === 'self_attn.attention');
    assert.ok(op);
    return op;
  };

  it('keeps a share of every activation', () => {
    const kept = (cp: number) => keptBy(layerOf(LLAMA, { ...base, 'parallel.context': cp }));
    assert.equal(kept(4), kept(1) / 4);
  });

  it('needs the fp32 sums and the gathered keys of PyTorch', () => {
    const [tokens, cp] = [2048, 4];
    const result = tokens * 2048;
    const keys = 2 * tokens * 1024;
    const { forwardScratch } = attentionOf({ 'parallel.context': cp });
    assert.equal(forwardScratch, 16 * result + cp * keys * 2);
    const ring = attentionOf({ 'parallel.context': cp, 'parallel.contextMethod': 'ring' });
    assert.equal(ring.forwardScratch, 16 * result + 3 * keys * 2);
  });

  it('needs what the ring of Transformer Engine receives, and the result of each step', () => {
    const [tokens, cp] = [2048, 4];
    const { forwardScratch } = attentionOf({
      'parallel.context': cp,
      'model.code': 'megatron',
      'precision.scheme': 'megatron',
    });
    assert.equal(forwardScratch, (cp - 1) * 2 * tokens * 1024 * 2 + cp * tokens * 2048 * 2);
  });

  it('computes the same in all', () => {
    const flops = (values: RunValues, ranks: number) => attentionOf(values).flops * ranks;
    const one = flops({}, 1);
    assert.equal(flops({ 'parallel.context': 4 }, 4), one);
    assert.equal(flops({ 'parallel.ulysses': 4 }, 4), one);
    assert.equal(flops({ 'parallel.context': 2, 'parallel.ulysses': 2 }, 4), one);
  });

  it('Ulysses keeps the exchanged result once more, and copies of key heads fewer than ranks', () => {
    const kept = (ulysses: number, context: number, model = LLAMA) =>
      keptBy(layerOf(model, { ...base, 'parallel.ulysses': ulysses, 'parallel.context': context }));
    const tokens = 2048;
    assert.equal(kept(4, 1) - kept(1, 4), tokens * 2048 * 2);
    const few = { ...LLAMA, num_key_value_heads: 2 };
    // Two key and two value heads become four each, of which a rank has one of all tokens.
    assert.equal(kept(4, 1, few) - kept(1, 4, few), tokens * 2048 * 2 + 2 * 2 * tokens * 128 * 2);
  });
});
