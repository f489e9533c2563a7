import assert from 'node:assert/strict';
import { operatorWords } from '../../../server/src/memory/step';

describe('operators', () => {
  it('are named in the words of people, whatever module they stand in', () => {
    assert.deepEqual(
      [
        'lm_head.fused_loss',
        'lm_head.fused_loss backward',
        'fused_loss',
        'loss.log_softmax',
        'self_attn.k_proj',
      ].map(operatorWords),
      ['head and loss', 'head and loss', 'head and loss', 'log-softmax of the loss', 'self attn.k proj'],
    );
  });
});
