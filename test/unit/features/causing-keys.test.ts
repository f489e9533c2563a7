import assert from 'node:assert/strict';
import { keyAtCursor } from '../../../client/src/panel/key-at-cursor';
import { firstKeyOf } from '../../../client/webview/causing-keys';
import { causingKeys } from '../../../server/src/features/causing-keys';
import type { Category } from '../../../server/src/results/estimate';
import { analysed, URI } from './panel-run';

describe('keys that cause parts', () => {
  it('are those of the files, with their places', async () => {
    const keys = causingKeys(await analysed());
    const stage = keys.find(({ key }) => key === 'zero_optimization.stage');
    assert.deepEqual(stage?.range.start, { line: 4, character: 34 });
    assert.ok(stage?.categories.includes('gradients'));
    const bucket = keys.find(({ key }) => key.endsWith('reduce_bucket_size'));
    assert.deepEqual(bucket?.categories, ['communication-buffers']);
    const names = keys.map(({ uri, key }) => `${uri} ${key}`);
    assert.equal(new Set(names).size, names.length);
    assert.ok(keys.some(({ uri }) => uri.endsWith('oomlint.yaml')));
  });

  it('know their place among the keys of each part: a part leads to what is changed first for it', async () => {
    const keys = causingKeys(await analysed());
    const first = (category: Category) => {
      const index = firstKeyOf(keys, category);
      return index === undefined ? undefined : keys[index]?.key;
    };
    assert.equal(first('activations'), 'train_micro_batch_size_per_gpu');
    assert.equal(first('communication-buffers'), 'zero_optimization.reduce_bucket_size');
    assert.equal(first('cuda-context'), undefined);
  });

  it('are found under the cursor: on the value, on its name, and the nearest of a line', async () => {
    const keys = causingKeys(await analysed());
    const at = (line: number, character: number) => keyAtCursor(keys, URI, { line, character })?.key;
    assert.equal(at(1, 10), 'train_micro_batch_size_per_gpu');
    assert.equal(at(4, 30), 'zero_optimization.stage');
    assert.equal(at(4, 45), 'zero_optimization.reduce_bucket_size');
    assert.equal(at(0, 0), undefined);
    assert.equal(keyAtCursor(keys, 'file:///project/other.json', { line: 1, character: 1 }), undefined);
  });
});
