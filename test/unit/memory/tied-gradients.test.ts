import * as assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

describe("a loss of a function's own with a head that is tied to the embedding", () => {
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

  it("is as much with TRL's, whose function makes the gradient itself, in fp32", () => {
    // `ChunkedLogProbFunction.backward` (TRL 1.16, `kernels/chunked_logprob.py`), under autocast.
    const wide = { 'precision.weights': 'fp32', 'precision.scheme': 'autocast' } as const;
    const chunked = tables({ ...wide, 'loss.implementation': 'log-probabilities-chunked' }) / 2;
    assert.ok(chunked > 3 && chunked < 3.5, `${chunked}`);
    const cut = tables({ 'loss.implementation': 'cut' });
    assert.ok(cut > 3 && cut < 3.5, `${cut}`);
  });

  it('is one more with a plain linear layer', () => {
    const plain = tables({});
    assert.ok(plain > 4 && plain < 4.5, `${plain}`);
  });
});
