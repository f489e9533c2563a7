import assert from 'node:assert/strict';
import { rankChoices } from '../../client/src/supply/rank-choices';
import { accelerators } from '../../server/data/gpus.json';
import models from '../../server/data/models.json';

const GPUS = accelerators.map(({ name, aliases }) => ({ label: name, description: aliases.join(' · ') }));
const MODELS = models.models.map(({ id }) => ({ label: id }));
const gpu = (typed: string) => rankChoices(GPUS, typed)[0]?.label;
const model = (typed: string) => rankChoices(MODELS, typed)[0]?.label;

describe('choices by what is typed', () => {
  it('an alias of a card goes before longer names that begin with it', () => {
    assert.equal(gpu('h100'), 'H100-SXM5-80GB');
    assert.equal(gpu('H100 NVL'), 'H100-NVL-94GB');
    assert.equal(gpu('a100 80gb'), gpu('a100-80gb'));
  });

  it('blanks stand for dashes, dots and slashes, and the plain model comes first', () => {
    assert.equal(model('llama 3.1 8b'), 'meta-llama/Llama-3.1-8B');
    assert.match(model('llama 8b') ?? '', /8B/);
    assert.equal(model('qwen2.5 7b'), 'Qwen/Qwen2.5-7B');
    assert.equal(model('deepseek v3'), 'deepseek-ai/DeepSeek-V3');
    assert.equal(model('gemma 2 9b'), 'google/gemma-2-9b');
  });

  it('all are there where nothing is typed, and none where nothing goes with it', () => {
    assert.equal(rankChoices(GPUS, ' ').length, GPUS.length);
    assert.deepEqual(rankChoices(GPUS, 'no such card'), []);
  });
});
