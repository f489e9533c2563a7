import assert from 'node:assert/strict';
import { freeAtFirstLoss } from '../../../server/src/memory/free-at-loss';
import { emptyLedger, post } from '../../../server/src/memory/ledger';
import type { Point } from '../../../server/src/memory/step';

const GIB = 2 ** 30;

describe('what is free at the first loss', () => {
  const pointOf = (moment: Point['moment'], weights: number, states: number): Point => {
    const ledger = emptyLedger();
    post(ledger, 'weights', weights);
    post(ledger, 'optimizer-states', states);
    return { moment, label: '', ledger, bytes: weights + states };
  };

  it('is what the highest of the forward pass leaves, without optimizer states, which come later', () => {
    const points = [
      pointOf('forward', 2 * GIB, GIB),
      pointOf('forward', 3 * GIB, GIB),
      pointOf('backward', 9 * GIB, GIB),
    ];
    assert.equal(freeAtFirstLoss(points, 14 * GIB), 11 * GIB);
  });

  it('is never nothing: a run without room does not fit, whatever its chunks', () => {
    assert.equal(freeAtFirstLoss([pointOf('forward', 20 * GIB, 0)], 14 * GIB), 2 ** 20);
  });
});
