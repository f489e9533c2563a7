import assert from 'node:assert/strict';
import ofTransformers from '../../../server/data/model-types.json';
import { modelFromConfig } from '../../../server/src/model/catalog';
import { modelTypes } from '../../../server/src/model/families/registry';
import type { Model } from '../../../server/src/model/model';

function built(config: unknown): Model {
  const model = modelFromConfig(config, 'config.json', 'config.json');
  assert.ok(!('error' in model), 'error' in model ? model.error : '');
  return model;
}

function refusal(config: unknown): string {
  const model = modelFromConfig(config, 'config.json', 'inline');
  assert.ok('error' in model);
  return model.error;
}

const LLAMA = {
  hidden_size: 2048,
  num_hidden_layers: 4,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  intermediate_size: 5632,
  vocab_size: 32000,
};

describe('config.json', () => {
  it('fills fields that the file leaves out as the configuration class does', () => {
    // `LlamaConfig()` is Llama 1 7B.
    assert.equal(built({ model_type: 'llama' }).parameters.total, 6_738_415_616);
    assert.equal(built({ model_type: 'gpt2' }).parameters.total, 124_439_808);
    assert.equal(built({ model_type: 'gemma2' }).layers, 26);
  });

  // Axolotl states 8.7 GiB of a QLoRA with the kernel; in Python it is 12.5.
  it('names a kernel that is not assumed: Apertus computes xIELU in Python without it', () => {
    const notes = (type: string) => built({ ...LLAMA, model_type: type }).notes ?? [];
    assert.ok(notes('apertus').some((note) => note.includes('xIELU')));
    assert.ok(!notes('llama').some((note) => note.includes('xIELU')));
  });

  it('reads old names of fields', () => {
    const model = built({ model_type: 'gpt2', n_embd: 1024, n_layer: 24, n_head: 16, n_positions: 1024 });
    assert.equal(model.parameters.total, 354_823_168);
    assert.deepEqual(
      [model.hiddenSize, model.layers, model.attentionHeads, model.maxPositions],
      [1024, 24, 16, 1024],
    );
  });

  it('reads what a released file holds besides', () => {
    const model = built({
      architectures: ['LlamaForCausalLM'],
      bos_token_id: 128000,
      model_type: 'llama',
      rope_scaling: { factor: 8, rope_type: 'llama3' },
      torch_dtype: 'bfloat16',
      transformers_version: '4.43.0',
      ...LLAMA,
    });
    assert.equal(model.publishedDtype, 'bf16');
    assert.equal(model.keyValueHeads, 4);
    assert.deepEqual(model.notes, []);
  });

  it('reads nested text and vision configs with the defaults of their own classes', () => {
    // The released gemma-3-4b-pt names only these fields of its text model.
    const model = built({
      model_type: 'gemma3',
      mm_tokens_per_image: 256,
      text_config: {
        hidden_size: 2560,
        intermediate_size: 10240,
        model_type: 'gemma3_text',
        num_hidden_layers: 34,
        sliding_window: 1024,
      },
      vision_config: {
        hidden_size: 1152,
        image_size: 896,
        intermediate_size: 4304,
        model_type: 'siglip_vision_model',
        num_attention_heads: 16,
        num_hidden_layers: 27,
        patch_size: 14,
        vision_use_head: false,
      },
    });
    assert.equal(model.parameters.total, 4_300_079_472);
    assert.equal(model.hiddenSize, 2560);
  });

  it('takes defaults of a nested class, not of the family that plays it', () => {
    const outer = { model_type: 'qwen2_vl', vision_config: { hidden_size: 3584 } };
    const nested = built({ ...outer, text_config: { model_type: 'qwen2_vl_text', hidden_size: 3584 } });
    // `Qwen2VLTextConfig` has 80 layers, `Qwen2Config` 32.
    assert.equal(nested.layers, 80);
  });

  it('ties the head where the outer config states it', () => {
    const text = { model_type: 'llama', ...LLAMA };
    const tied = built({
      model_type: 'llava',
      text_config: text,
      vision_config: {},
      tie_word_embeddings: true,
    });
    const untied = built({ model_type: 'llava', text_config: text, vision_config: {} });
    assert.equal(untied.parameters.total - tied.parameters.total, 32000 * 2048);
  });

  it('takes an unknown type with the fields of a Llama for one, and reports it', () => {
    const model = built({ model_type: 'brand_new', ...LLAMA });
    assert.equal(model.parameters.total, built({ model_type: 'llama', ...LLAMA }).parameters.total);
    assert.match(model.notes.join(), /"brand_new" is not known: treated as Llama-like/);
  });

  it('refuses a depth that no model has', () => {
    assert.match(refusal({ ...LLAMA, model_type: 'llama', num_hidden_layers: 1e7 }), /at most 10000/);
    assert.match(refusal({ model_type: 'gpt2', n_layer: 10_001 }), /n_layer|num_hidden_layers/);
    assert.equal(built({ ...LLAMA, model_type: 'llama', num_hidden_layers: 10_000 }).layers, 10_000);
  });

  it('refuses an unknown type that it would have to guess', () => {
    assert.match(
      refusal({ model_type: 'brand_new', hidden_size: 64 }),
      /"brand_new" is not known.*num_hidden_layers/,
    );
    const foreign: Readonly<Record<string, unknown>> = {
      num_experts: 8,
      vision_config: { hidden_size: 64 },
      text_config: { hidden_size: 64 },
      kv_lora_rank: 512,
      mamba_d_state: 16,
      layer_norm_eps: 1e-5,
      use_qk_norm: true,
      no_bias: false,
      parallel_residual: true,
      num_kv_heads: 2,
      cross_attention_layers: [3],
      hidden_size_per_layer: [2048, 1024],
      a_field_of_tomorrow: 'yes',
      hidden_act: 'relu2',
      layer_types: ['full_attention', 'linear_attention', 'full_attention', 'full_attention'],
    };
    for (const [field, value] of Object.entries(foreign)) {
      const message = refusal({ model_type: 'brand_new', ...LLAMA, [field]: value });
      assert.match(message, new RegExp(`"brand_new" is not known.*"${field}"`), field);
    }
    const text = { model_type: 'brand_new', ...LLAMA, hidden_size: '2048' };
    assert.match(refusal(text), /hidden_size/);
  });

  it('takes no notice of foreign fields of an unknown type that say that there is no such part', () => {
    const absent = {
      num_experts: 0,
      use_qk_norm: false,
      vision_config: null,
      text_config: {},
      moe_layers: [],
    };
    const plain = {
      rms_norm_eps: 1e-6,
      rope_theta: 1e4,
      auto_map: {},
      bos_token_id: 1,
      torch_dtype: 'bfloat16',
    };
    const model = built({ model_type: 'brand_new', ...LLAMA, ...absent, ...plain, _commit_hash: 'f00' });
    assert.equal(model.parameters.total, built({ model_type: 'llama', ...LLAMA }).parameters.total);
    assert.match(model.notes.join(), /treated as Llama-like/);
  });

  it('reads no type of transformers as a Llama for want of a builder', () => {
    const builders = new Set(modelTypes());
    for (const type of ofTransformers.types) {
      if (builders.has(type)) continue;
      assert.match(refusal({ model_type: type, ...LLAMA }), new RegExp(`"${type}" of transformers`));
    }
    assert.ok(ofTransformers.types.length > 500);
  });

  it('refuses what is no config', () => {
    assert.match(refusal(null), /JSON object/);
    assert.match(refusal([]), /JSON object/);
    assert.match(refusal('llama'), /JSON object/);
    assert.match(refusal({}), /model_type/);
    assert.match(refusal({ model_type: 7 }), /model_type/);
  });

  it('refuses fields of the wrong type and names them', () => {
    assert.match(
      refusal({ model_type: 'llama', ...LLAMA, hidden_size: '4096' }),
      /"hidden_size".*whole number/,
    );
    assert.match(refusal({ model_type: 'llama', ...LLAMA, num_hidden_layers: 0 }), /"num_hidden_layers"/);
    assert.match(refusal({ model_type: 'llama', ...LLAMA, vocab_size: 1e300 }), /"vocab_size"/);
    assert.match(refusal({ model_type: 'llama', ...LLAMA, attention_dropout: 3 }), /"attention_dropout"/);
    assert.match(
      refusal({ model_type: 'llama', ...LLAMA, tie_word_embeddings: 'yes' }),
      /"tie_word_embeddings"/,
    );
    assert.match(
      refusal({ model_type: 'gemma3', text_config: { vocab_size: -1 } }),
      /"text_config.vocab_size"/,
    );
    assert.match(refusal({ model_type: 'mimo', hidden_size: 64 }), /"num_attention_heads"/);
  });

  it('refuses kinds of layers that it does not know', () => {
    const hybrid = { model_type: 'nemotron_h', hybrid_override_pattern: 'MX*' };
    assert.match(refusal(hybrid), /layers of kind "X"/);
  });
});
