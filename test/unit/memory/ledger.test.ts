import assert from 'node:assert/strict';
import {
  combine,
  emptyLedger,
  isJournaled,
  itemsIn,
  journaled,
  post,
} from '../../../server/src/memory/ledger';

const BUCKET = { name: 'bucket', formula: '2 × 4 B' };

describe('a ledger', () => {
  it('notes what its bytes are only inside of a journal', () => {
    const outside = emptyLedger();
    post(outside, 'gradients', 8, BUCKET);
    const { result: inside, itemsOf } = journaled(() => {
      assert.ok(isJournaled());
      const ledger = emptyLedger();
      post(ledger, 'gradients', 8, BUCKET);
      return combine(ledger, outside);
    });
    assert.equal(isJournaled(), false);
    assert.deepEqual([...itemsIn(itemsOf(inside), 'gradients')], [[BUCKET, 8]]);
    post(inside, 'gradients', 8, BUCKET);
    assert.deepEqual([...itemsIn(itemsOf(inside), 'gradients')], [[BUCKET, 8]]);
    assert.equal(itemsIn(itemsOf(outside), 'gradients').size, 0);
  });

  it('has nothing left of what is freed under the label that it was allocated under', () => {
    const { result, itemsOf } = journaled(() => {
      const ledger = emptyLedger();
      post(ledger, 'gradients', 1 / 3, BUCKET);
      post(ledger, 'gradients', 4, { ...BUCKET });
      post(ledger, 'gradients', -1 / 3, BUCKET);
      return ledger;
    });
    assert.deepEqual([...itemsIn(itemsOf(result), 'gradients').values()], [4]);
  });
});
