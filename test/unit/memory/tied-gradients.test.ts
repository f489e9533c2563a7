import * as assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

describe("Liger's loss with a head that is tied to the embedding", () => {
  // Autograd may add to a gradient that nobody else names; that of `F.linear` is a view, whose sum is a third tensor.
  const [rows, width] = [200_000, 512];
  const table = 2 * rows * width;
  const model = aModel({
    model_type: 'llama',
    vocab_size: rows,
    hidden_size: width,
    intermediate_size: 1024,
    num_hidden_layers: 1,
    num_attention_heads: 8,
    tie_word_embeddings: true,
  });
  const tables = (values: RunValues) => {
    const run = aRun({
      'batch.micro': 1,
      'batch.sequence': 64,
      'optimizer.name': 'sgd',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'native',
      ...values,
    });
    return estimate({ run, model, accelerator: CARD }).peak.allocatedBytes / table;
  };

  it('is the weight, its gradient and the one that is added to it', () => {
    const liger = tables({ 'kernels.liger': true });
    assert.ok(liger > 3 && liger < 3.5, `${liger}`);
  });

  it('is one more without Liger', () => {
    const plain = tables({});
    assert.ok(plain > 4 && plain < 4.5, `${plain}`);
  });
});
