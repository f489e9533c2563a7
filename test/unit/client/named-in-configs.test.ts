import assert from 'node:assert/strict';
import { namedIn } from '../../../client/src/supply/named-in-configs';
import { accelerators } from '../../../server/data/gpus.json';
import catalog from '../../../server/data/models.json';
import popular from '../../../server/data/popular.json';

describe('names that configs of a workspace have', () => {
  const CONFIGS = [
    { model: 'Qwen/Qwen3-8B', gpu: 'T4' },
    { model: '/data/llama', gpu: 'H100-SXM5-80GB' },
    { model: './out/checkpoint-100', gpu: 'H100-SXM5-80GB' },
    { model: 'google/gemma-2-9b' },
    { model: 'Qwen/Qwen3-8B', gpu: 'A10G' },
    {},
  ];

  it('those of most configs come first, then by name', () => {
    assert.deepEqual(namedIn(CONFIGS, 'gpu'), [
      { name: 'H100-SXM5-80GB', configs: 2 },
      { name: 'A10G', configs: 1 },
      { name: 'T4', configs: 1 },
    ]);
  });

  it('a folder is no model for other files', () => {
    assert.deepEqual(
      namedIn(CONFIGS, 'model').map(({ name }) => name),
      ['Qwen/Qwen3-8B', 'google/gemma-2-9b'],
    );
  });
});

describe('popular models and GPUs', () => {
  for (const [what, rows, known] of [
    ['models', popular.models, catalog.models.map(({ id }) => id)],
    ['GPUs', popular.gpus, accelerators.map(({ name }) => name)],
  ] as const)
    it(`${what} are in the catalog, those that most repositories name first`, () => {
      assert.ok(rows.length >= 8);
      for (const { name } of rows) assert.ok((known as readonly string[]).includes(name), name);
      const counts = rows.map(({ repositories }) => repositories);
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => b - a),
      );
    });
});
