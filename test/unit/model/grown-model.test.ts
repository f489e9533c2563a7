import assert from 'node:assert/strict';
import { tracedEstimate } from '../../../server/src/estimate';
import { endsGroup, grownModel } from '../../../server/src/model/grown-model';
import { aModel, aRun, CARD } from '../memory/a-run';

const llama = aModel({
  model_type: 'llama',
  hidden_size: 256,
  intermediate_size: 512,
  num_hidden_layers: 8,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  vocab_size: 1000,
  tie_word_embeddings: false,
});
/** Elements of one layer: four projections of attention, three of the MLP, two norms. */
const LAYER = 4 * 256 ** 2 + 3 * 256 * 512 + 2 * 256;
const trained = (values: Parameters<typeof aRun>[0]) =>
  tracedEstimate({ run: aRun(values), model: llama, accelerator: CARD }).estimate.model;

describe('a model with new layers (LLaMA Pro)', () => {
  it('has one behind every group, and is itself without any', () => {
    assert.equal(grownModel(llama, 0), llama);
    const grown = grownModel(llama, 4);
    assert.equal(grown.layers, 12);
    assert.equal(grown.parameters.total, llama.parameters.total + 4 * LAYER);
    assert.equal(grownModel(llama, 4), grown);
  });

  it('puts copies of layers that alternate behind their own', () => {
    const gemma = aModel({
      model_type: 'gemma2',
      hidden_size: 256,
      intermediate_size: 512,
      num_hidden_layers: 6,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 64,
      vocab_size: 1000,
      sliding_window: 8,
    });
    const counts = (stages: typeof gemma.stages) =>
      stages.filter(({ role }) => role === 'layer').map(({ count }) => count);
    assert.deepEqual(counts(gemma.stages), [1, 1, 1, 1, 1, 1]);
    assert.deepEqual(counts(grownModel(gemma, 3).stages), [1, 2, 1, 2, 1, 2]);
  });

  it('trains the new ones alone', () => {
    const pro = {
      'method.kind': 'freeze',
      'method.newLayers': 4,
      'method.trainableLayers': 4,
      'method.spreadLayers': true,
    } as const;
    assert.deepEqual(trained(pro), {
      totalParameters: llama.parameters.total + 4 * LAYER,
      activeParameters: llama.parameters.active + 4 * LAYER,
      trainableParameters: 4 * LAYER,
    });
    // Layers of a checkpoint that has them already (LLaMA-Factory).
    const held = { ...pro, 'method.newLayers': 0, 'method.trainableLayers': 2 } as const;
    assert.equal(trained(held).trainableParameters, 2 * LAYER);
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => endsGroup(i, 8, 2)),
      [3, 7],
    );
    const adapted = {
      ...held,
      'method.kind': 'lora',
      'lora.rank': 8,
      'lora.targets': ['q_proj'],
    } as const;
    assert.equal(trained(adapted).trainableParameters, 2 * 8 * (256 + 256));
  });
});
