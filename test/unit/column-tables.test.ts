import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { columnsOf, rowsOf } from '../../scripts/modules.mjs';

type Row = Readonly<Record<string, unknown>>;
const again = (rows: readonly Row[]): readonly Row[] => rowsOf(JSON.stringify(columnsOf(rows)));
const parsed = (text: string): Row[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);

describe('tables that are packed by columns', () => {
  const folder = 'server/data/framework-keys';
  for (const name of readdirSync(folder))
    it(`has the rows of ${name} again, and is smaller`, () => {
      const rows = parsed(readFileSync(`${folder}/${name}`, 'utf8'));
      assert.deepEqual(again(rows), rows);
      assert.ok(JSON.stringify(columnsOf(rows)).length < JSON.stringify(rows).length);
    });

  it('has the models again, with their keys in order', () => {
    const { models } = JSON.parse(readFileSync('server/data/models.json', 'utf8')) as { models: Row[] };
    assert.deepEqual(again(models), models);
    assert.deepEqual(
      again(models).map(({ config }) => JSON.stringify(config)),
      models.map(({ config }) => JSON.stringify(config)),
    );
  });

  it('have any rows again', () => {
    const value = fc.oneof(fc.constantFrom(0, 1, null, true, '', 'a', [0], [1], [[0]]), fc.integer());
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { minKeys: 1 }), { minLength: 1 }),
        (rows) => {
          const plain = JSON.parse(JSON.stringify(rows)) as Row[];
          assert.deepEqual(again(plain), plain);
        },
      ),
    );
  });
});
