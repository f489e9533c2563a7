import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  type DetailNode,
  type FigureDraft,
  settleIntegers,
  UNEXPLAINED,
} from '../../../server/src/results/detail-node';

const leaf = (value: number): FigureDraft => ({ name: 'leaf', value, unit: 'bytes' });

function check(node: DetailNode): void {
  assert.ok(Number.isInteger(node.value));
  if (!node.children) return;
  const sum = node.children.reduce((total, { value }) => total + value, 0);
  assert.equal(sum, node.value);
  for (const child of node.children) check(child);
}

describe('whole numbers of opened figures', () => {
  it('add up at every level, whatever the fractions', () => {
    const values = fc.array(fc.double({ min: 0, max: 1e12, noNaN: true }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 6 }), (groups) => {
        const children = groups.map((group): FigureDraft => {
          const value = group.reduce((sum, one) => sum + one, 0);
          return { name: 'group', value, unit: 'bytes', children: group.map(leaf) };
        });
        const value = children.reduce((sum, child) => sum + child.value, 0);
        const whole = settleIntegers({ name: 'all', value, unit: 'bytes', children });
        check(whole);
        assert.ok(!JSON.stringify(whole).includes(UNEXPLAINED));
      }),
    );
  });

  it('moves each value by less than one', () => {
    const whole = settleIntegers({
      name: 'all',
      value: 10,
      unit: 'bytes',
      children: [leaf(3.4), leaf(3.3), leaf(3.3)],
    });
    assert.deepEqual(
      whole.children?.map(({ value }) => value),
      [4, 3, 3],
    );
  });

  it('shows what nothing explains', () => {
    const whole = settleIntegers({ name: 'all', value: 100, unit: 'bytes', children: [leaf(60)] });
    assert.deepEqual(
      whole.children?.map(({ name, value }) => [name, value]),
      [
        ['leaf', 60],
        [UNEXPLAINED, 40],
      ],
    );
  });
});
