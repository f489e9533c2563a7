import assert from 'node:assert/strict';
import { causation, heldBy, leversOf, shapeable } from '../../../server/src/memory/causes';
import { CATEGORIES } from '../../../server/src/results/estimate';
import { ESTIMATE } from '../features/sample';

describe('what shapes which part of the peak', () => {
  it('reads the same from both ends', () => {
    const onlyThrough = new Set(['batch.global']);
    const strangers = CATEGORIES.flatMap((category) =>
      leversOf(category)
        .filter((field) => !onlyThrough.has(field))
        .filter((field) => !causation([field], undefined)?.categories.has(category))
        .map((field) => `${category}: ${field}`),
    );
    assert.deepEqual(strangers, []);
  });

  it('reports nothing of fields that matter only through others', () => {
    assert.equal(causation(['batch.global'], ESTIMATE), undefined);
    assert.equal(causation([], ESTIMATE), undefined);
  });

  it('finds the parts of a field in an estimate, heaviest first and none that is empty', () => {
    const caused = causation(['parallel.data'], ESTIMATE);
    assert.ok(caused);
    assert.deepEqual(
      heldBy(caused.categories, ESTIMATE).map(({ category }) => category),
      ['optimizer-states', 'weights', 'communication-buffers'],
    );
  });

  it('leaves out what no statement shapes', () => {
    const parts = [...ESTIMATE.parts, { category: 'cuda-context', bytes: 2 ** 40 } as const];
    assert.equal(shapeable(parts)[0]?.category, 'optimizer-states');
  });
});
