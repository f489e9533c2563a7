import { strict as assert } from 'node:assert';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from '../memory/a-run';

const SIZES = { hidden_size: 128, num_hidden_layers: 2, num_attention_heads: 4, intermediate_size: 256 };
const TEXT = { ...SIZES, vocab_size: 1000, max_position_embeddings: 130 };

/** Parameters with one label and with five (transformers 5.23, on the meta device): `*For{Sequence,Token,Image}Classification`. */
const COUNTED = [
  ['bert', TEXT, 'classification', 426_753, 427_269],
  ['bert', TEXT, 'token-classification', 410_241, 410_757],
  ['roberta', { ...TEXT, type_vocab_size: 1 }, 'classification', 426_625, 427_141],
  ['roberta', { ...TEXT, type_vocab_size: 1 }, 'token-classification', 410_113, 410_629],
  ['llama', { ...TEXT, num_key_value_heads: 4 }, 'classification', 456_448, 456_960],
  ['vit', SIZES, 'classification', 389_121, 389_637],
  ['modernbert', TEXT, 'token-classification', 472_961, 473_477],
] as const;

describe('labels of a head', () => {
  for (const [type, sizes, objective, one, five] of COUNTED)
    it(`${type}, ${objective}: as many as the run states, else as the config does`, () => {
      const total = (values: RunValues, config: Readonly<Record<string, unknown>> = {}) =>
        estimate({
          run: aRun({ 'method.objective': objective, 'batch.sequence': 64, ...values }),
          model: aModel({ model_type: type, ...sizes, ...config }),
          accelerator: CARD,
        }).model.totalParameters;
      assert.equal(total({ 'model.labels': 1 }), one);
      assert.equal(total({ 'model.labels': 5 }), five);
      assert.equal(total({}, { id2label: { 0: 'a', 1: 'b', 2: 'c', 3: 'd', 4: 'e' } }), five);
      assert.equal(total({ 'model.labels': 1 }, { num_labels: 5 }), one);
    });
});
