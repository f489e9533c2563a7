import assert from 'node:assert/strict';
import { keyValueCacheBytes, layerCacheBytes } from '../../../server/src/memory/key-value-cache';
import { aModel, SMALL_LLAMA } from './a-run';

const T5 = {
  model_type: 't5',
  is_encoder_decoder: true,
  d_model: 1024,
  d_kv: 128,
  d_ff: 4096,
  num_layers: 24,
  num_heads: 32,
  vocab_size: 32128,
};
const BART = {
  model_type: 'bart',
  is_encoder_decoder: true,
  d_model: 1024,
  encoder_layers: 12,
  decoder_layers: 6,
  encoder_attention_heads: 16,
  decoder_attention_heads: 16,
  encoder_ffn_dim: 4096,
  decoder_ffn_dim: 4096,
  vocab_size: 50265,
};

describe('keys and values that generation keeps', () => {
  const samples = 2;
  const width = 2;

  it('are those of prompt and completion in every layer of a decoder', () => {
    const bytes = keyValueCacheBytes(aModel(SMALL_LLAMA), samples, { prompt: 700, fresh: 300 }, width);
    assert.equal(bytes, samples * 8 * 2 * 2048 * 1000 * width);
  });

  // `EncoderDecoderCache`: each decoder layer keeps its own tokens, and the encoder's for cross-attention; the encoder's layers
  // none. T5's heads are `d_kv` wide, which is not hidden size over heads: 128 for 32 in 3B and 11B.
  it('are those of the completion and of the encoded prompt in the decoder of a pair', () => {
    const bytes = (config: Record<string, unknown>) =>
      keyValueCacheBytes(aModel(config), samples, { prompt: 700, fresh: 300 }, width);
    assert.equal(bytes(T5), samples * 24 * 2 * (32 * 128) * (700 + 300) * width);
    assert.equal(bytes({ ...T5, num_decoder_layers: 6 }), samples * 6 * 2 * (32 * 128) * 1000 * width);
    assert.equal(bytes(BART), samples * 6 * 2 * 1024 * 1000 * width);
  });

  it('are as wide as the heads in one layer, too', () => {
    assert.equal(layerCacheBytes(aModel(T5), samples, 100, width), samples * 2 * (32 * 128) * 100 * width);
  });
});
