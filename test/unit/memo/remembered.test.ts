import assert from 'node:assert/strict';
import { remembered } from '../../../server/src/memo/remembered';

describe('what is remembered', () => {
  it('is made once while it is among the latest', () => {
    const made: string[] = [];
    const kept = remembered<string | undefined>(2);
    const ask = (key: string) =>
      kept.of(key, () => {
        made.push(key);
        return key === 'nothing' ? undefined : key.toUpperCase();
      });
    assert.deepEqual(['a', 'b', 'a'].map(ask), ['A', 'B', 'A']);
    assert.deepEqual(made, ['a', 'b']);
    // The one that was asked for last stays.
    assert.deepEqual(['c', 'a', 'b'].map(ask), ['C', 'A', 'B']);
    assert.deepEqual(made, ['a', 'b', 'c', 'b']);
    // That there is no answer is one, too.
    assert.deepEqual(['nothing', 'nothing'].map(ask), [undefined, undefined]);
    assert.deepEqual(made.slice(4), ['nothing']);
  });
});
