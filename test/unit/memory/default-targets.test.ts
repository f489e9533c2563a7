import { strict as assert } from 'node:assert';
import { estimate } from '../../../server/src/estimate';
import { lacksTargets } from '../../../server/src/memory/adapter-selection';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

const LAYERS = { num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 50 };
const WIDTHS = { hidden_size: 64, intermediate_size: 96, ...LAYERS };
const GROUPED = { ...WIDTHS, num_key_value_heads: 2 };
const HEADED = { ...GROUPED, head_dim: 16 };
const T5 = { d_model: 64, d_ff: 96, d_kv: 16, num_layers: 2, num_heads: 4, vocab_size: 50 };
const GPT = { n_embd: 64, n_layer: 2, n_head: 4, vocab_size: 50, n_positions: 64 };

type Count = number | 'none';

/** Sizes of a small model, and what `get_peft_model` trains of it without `target_modules` (peft 0.21.2, transformers 5.23); elements of the whole under LN tuning. */
const TRAINED: readonly (readonly [
  modelType: string,
  sizes: Readonly<Record<string, unknown>>,
  trained: { readonly 'ln-tuning': Count; readonly ia3: Count; readonly adalora: Count },
  whole: number,
])[] = [
  [
    'bloom',
    { hidden_size: 64, n_layer: 2, n_head: 4, vocab_size: 50 },
    { 'ln-tuning': 640, ia3: 896, adalora: 4112 },
    104_064,
  ],
  ['gpt2', GPT, { 'ln-tuning': 640, ia3: 896, adalora: 4112 }, 108_032],
  ['gptj', { ...GPT, rotary_dim: 16 }, { 'ln-tuning': 384, ia3: 768, adalora: 4128 }, 106_162],
  ['llama', GROUPED, { 'ln-tuning': 320, ia3: 320, adalora: 3616 }, 68_480],
  ['phi', WIDTHS, { 'ln-tuning': 384, ia3: 448, adalora: 'none' }, 65_394],
  ['qwen2', GROUPED, { 'ln-tuning': 128, ia3: 384, adalora: 3616 }, 68_544],
  ['qwen3', HEADED, { 'ln-tuning': 128, ia3: 384, adalora: 3616 }, 68_352],
  ['gemma2', HEADED, { 'ln-tuning': 576, ia3: 384, adalora: 3616 }, 65_792],
  ['falcon', { hidden_size: 64, ...LAYERS }, { 'ln-tuning': 384, ia3: 704, adalora: 'none' }, 89_984],
  ['mistral', HEADED, { 'ln-tuning': 320, ia3: 320, adalora: 'none' }, 68_480],
  [
    'opt',
    { hidden_size: 64, ffn_dim: 96, ...LAYERS, word_embed_proj_dim: 64, max_position_embeddings: 64 },
    { 'ln-tuning': 'none', ia3: 448, adalora: 13_408 },
    0,
  ],
  ['t5', T5, { 'ln-tuning': 768, ia3: 1152, adalora: 35_072 }, 152_448],
  ['mt5', T5, { 'ln-tuning': 768, ia3: 1152, adalora: 40_224 }, 177_024],
  [
    'bart',
    {
      d_model: 64,
      encoder_layers: 2,
      decoder_layers: 2,
      encoder_ffn_dim: 96,
      decoder_ffn_dim: 96,
      encoder_attention_heads: 4,
      decoder_attention_heads: 4,
      vocab_size: 50,
      max_position_embeddings: 64,
    },
    { 'ln-tuning': 1280, ia3: 1152, adalora: 35_072 },
    164_096,
  ],
];

describe('modules that PEFT adapts where none are named', () => {
  for (const [type, sizes, trained, whole] of TRAINED) {
    it(`of ${type} are those of its own table for each kind of adapter`, () => {
      const model = aModel({ model_type: type, ...sizes });
      for (const kind of ['ln-tuning', 'ia3', 'adalora'] as const) {
        const values: RunValues = { 'method.kind': 'lora', 'lora.kind': kind, 'lora.rank': 8 };
        assert.equal(lacksTargets(values, model), trained[kind] === 'none', kind);
        if (trained[kind] === 'none') continue;
        const found = estimate({ run: aRun(values), model, accelerator: CARD });
        assert.equal(found.model.trainableParameters, trained[kind], kind);
        if (kind === 'ln-tuning') assert.equal(found.model.totalParameters, whole);
      }
    });
  }

  it('are named ones where a config of LN tuning names them', () => {
    const model = aModel({ model_type: 'llama', ...GROUPED });
    const named = (targets: readonly string[]) =>
      estimate({
        run: aRun({ 'method.kind': 'lora', 'lora.kind': 'ln-tuning', 'lora.targets': targets }),
        model,
        accelerator: CARD,
      }).model.trainableParameters;
    assert.equal(named(['norm']), 64);
    assert.equal(named(['input_layernorm']), 128);
  });
});
