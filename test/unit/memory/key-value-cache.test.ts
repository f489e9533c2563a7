import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { keyValueCacheBytes, layerCacheBytes } from '../../../server/src/memory/key-value-cache';
import { catalogEntries, findModel } from '../../../server/src/model/catalog';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const T5 = {
  model_type: 't5',
  d_model: 1024,
  d_kv: 128,
  d_ff: 4096,
  num_layers: 24,
  num_heads: 32,
  vocab_size: 32128,
};
const BART = {
  model_type: 'bart',
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

  // Rows and files seldom have `is_encoder_decoder`, which its class states (`T5Config`, `BartConfig`, `WhisperConfig`).
  it('are those of the decoder alone in every row of the catalogue that has an encoder', () => {
    const pairs =
      /^(?:m?t5|umt5|m?bart|plbart|pegasus|marian|m2m_100|blenderbot(?:-small)?|whisper|speecht5)$/;
    const rows = catalogEntries().filter(({ model_type: type }) => pairs.test(type));
    assert.ok(rows.length >= 36, String(rows.length));
    for (const { id } of rows) {
      const model = findModel(id);
      assert.ok(model, id);
      const { config } = model;
      const layers = config.num_decoder_layers ?? config.decoder_layers ?? config.num_layers;
      const head = config.d_kv ?? model.hiddenSize / model.attentionHeads;
      const encoded = config.model_type === 'whisper' ? config.max_source_positions : 700;
      assert.equal(
        keyValueCacheBytes(model, samples, { prompt: 700, fresh: 300 }, width),
        samples * Number(layers) * 2 * model.attentionHeads * Number(head) * (Number(encoded) + 300) * width,
        id,
      );
    }
  });

  // `generate` runs the encoder before it expands what it handed over to beams (`_expand_inputs_for_generation`).
  it('grow with beams, of which the encoder knows nothing', () => {
    const peaks = [1, 8].map((beams) => {
      const run = aRun({
        'batch.micro': 1,
        'batch.sequence': 512,
        'evaluation.enabled': true,
        'evaluation.batch': 4,
        'evaluation.generatedTokens': 16,
        'evaluation.beams': beams,
      });
      const { timeline } = estimate({ run, model: aModel(T5), accelerator: CARD });
      const encoder = timeline.filter(({ label }) => /generation, prompt, layer 1 of encoder,/.test(label));
      return encoder.map(({ bytes }) => bytes);
    });
    assert.ok((peaks[0]?.length ?? 0) > 0);
    assert.deepEqual(peaks[0], peaks[1]);
  });
});
