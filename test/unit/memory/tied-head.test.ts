import * as assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import oracle from '../../oracle/shared_gradients.json';
import { aModel, aRun, CARD } from './a-run';

/** Copies of the weight that adding both gradients takes, as autograd of torch 2.13 was recorded (`test/oracle/shared_gradients.py`). */
describe('gradients of a head that is tied to the embedding', () => {
  const [rows, width] = [200_000, 512];
  const model = aModel({
    model_type: 'llama',
    vocab_size: rows,
    hidden_size: width,
    intermediate_size: 1024,
    num_hidden_layers: 1,
    num_attention_heads: 8,
    tie_word_embeddings: true,
  });
  /** Highest gradients of backward, in copies of the table. */
  const copies = (head: string, weights: 'fp32' | 'bf16', autocast: boolean) => {
    const fused: RunValues = { framework: 'trl', 'loss.implementation': 'log-probabilities-chunked' };
    const run = aRun({
      'batch.micro': 1,
      'batch.sequence': 64,
      'optimizer.name': 'sgd',
      'precision.weights': weights,
      'precision.compute': autocast ? 'bf16' : weights,
      'precision.scheme': autocast ? 'autocast' : 'native',
      ...(head === 'fused' ? fused : {}),
    });
    const { timeline } = estimate({ run, model, accelerator: CARD });
    const bytes = timeline
      .filter(({ moment }) => moment === 'backward')
      .map(({ parts }) => parts.find(({ category }) => category === 'gradients')?.bytes ?? 0);
    return Math.round(Math.max(...bytes) / (rows * width * (weights === 'fp32' ? 4 : 2)));
  };

  for (const { head, weights, autocast, copies: recorded } of oracle.cases)
    it(`${head}, ${weights}${autocast ? ', autocast' : ''}`, () => {
      // One of each use, and what their sum takes.
      assert.equal(copies(head, weights as 'fp32' | 'bf16', autocast), 2 + recorded);
    });
});
