import assert from 'node:assert/strict';
import { catalogOf } from '../../../server/src/features/catalog';

describe('what there is to choose from', () => {
  it('is every model of the catalog, with the names that people search by', () => {
    const { models } = catalogOf([], undefined);
    const llama = models.find(({ id }) => id === 'meta-llama/Llama-3.1-8B');
    assert.equal(llama?.parameters, 8_030_261_248);
    assert.equal(llama?.modelType, 'llama');
    assert.ok((llama?.aliases.length ?? 0) > 0);
    assert.equal(new Set(models.map(({ id }) => id)).size, models.length);
  });

  it('is what lies in the Hugging Face cache, data sets left out', () => {
    const folders = ['models--Qwen--Qwen3-8B', 'datasets--a--b', 'models--gpt2', '.locks', 'version.txt'];
    assert.deepEqual(catalogOf(folders, undefined).cached, ['Qwen/Qwen3-8B', 'gpt2']);
  });
});
