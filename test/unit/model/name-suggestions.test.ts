import assert from 'node:assert/strict';
import { findModel, modelNames } from '../../../server/src/model/catalog';
import { isMisspelt, suggestModels, unnamed } from '../../../server/src/model/name-suggestions';

describe('names of models that the catalog lacks', () => {
  it('suggest a model of the same family, generation and size', () => {
    assert.ok(suggestModels('meta-llama/Llama-3.1-8').includes('meta-llama/Llama-3.1-8B'));
    assert.equal(suggestModels('meta-llama/Llama-3.1-8B-Instrct')[0], 'meta-llama/Llama-3.1-8B-Instruct');
    assert.equal(suggestModels('Qwen/Qwen2.5-7BB')[0], 'Qwen/Qwen2.5-7B');
    assert.equal(suggestModels('Qwen/Qewn2.5-7B')[0], 'Qwen/Qwen2.5-7B');
    assert.equal(suggestModels('mistralai/Mixtral_8x7B_v0.1')[0], 'mistralai/Mixtral-8x7B-v0.1');
    assert.deepEqual(
      suggestModels('mistral-7b').filter((name) => !/mistral-7b/i.test(name)),
      [],
    );
    assert.notEqual(suggestModels('mistral-7b').length, 0);
  });

  it('suggest nothing of another size, generation or family', () => {
    const others = [
      'Qwen/Qwen3.5-2.5B',
      'SmallDoge/Doge-333M',
      'THUDM/GLM-4.3V-9B-Thinking',
      'BEE-spoke-data/micro-llama-300M',
      'OpenMOSS/MOSS-VL',
      'meta-llama/Llama-3.1-9B',
      'meta-llama/Llama-3.9-8B',
      'google/gemma-9-31B',
      'Qwen/Qwen3-8M',
      'zzzzzzzzzzzzzzzzzzzzzzzzzzzz',
      '7B',
      '',
    ];
    for (const name of others) assert.deepEqual(suggestModels(name), [], name);
  });

  it('never suggest for a name that is known another model', () => {
    for (const name of modelNames()) {
      const [first = ''] = suggestModels(name);
      // A model may have several names, and the same one at several owners.
      const bare = (id: string) => id.toLowerCase().split('/').at(-1);
      if (bare(first) !== bare(name))
        assert.deepEqual(findModel(first)?.parameters, findModel(name)?.parameters, `${name}: ${first}`);
    }
  });

  it('are misspelt only where the catalog shows it', () => {
    for (const name of [
      'meta-llama/Llama-3.1-8B-Instrct',
      'meta-lama/Lama-3.1-8B',
      'Qwen/Qwen2.5-7BB',
      'Qwen/Qwen-2.5-7B',
      'Lama-3.1-8B',
    ]) {
      assert.equal(findModel(name), undefined, name);
      assert.ok(isMisspelt(name), name);
    }
    for (const name of [
      'somebody/Lama-3.1-8B',
      'Qwen/Qwen2.5-7B-Base',
      // The catalog has it, whatever part of it a run asks for.
      'meta-llama/Llama-3.2-11B-Vision-Instruct',
      'mistral-7b',
      'me/my-model',
      'meta-llama/Llama-9-8B',
      './outputs/checkpoint-100',
    ]) {
      assert.ok(!isMisspelt(name), name);
    }
  });

  it('are distinguished from places that hold no name', () => {
    const variables = [
      '$2',
      '$LLM',
      `\${RAY_DATA_HOME}/models/x`,
      '{{ model }}',
      `\${1:-}`,
      '{model}',
      '$(pwd)/m',
    ];
    for (const name of variables) assert.equal(unnamed(name), 'variable', name);
    const placeholders = [
      'MY_COOL_MODEL',
      '<path>',
      '<your-model>/x',
      'path/to/model',
      '/path/to/llama',
      'your-model',
      '...',
    ];
    for (const name of placeholders) assert.equal(unnamed(name), 'placeholder', name);
    const names = [
      'gpt2',
      'GPT2',
      'org/name',
      '/data/models/llama',
      './outputs/run',
      'me/pathology-llm',
      'user/mymodel',
      'MOSS-VL',
    ];
    for (const name of names) assert.equal(unnamed(name), undefined, name);
  });

  it('of the catalog are names', () => {
    assert.ok(modelNames().length > 700);
    assert.deepEqual(
      modelNames().filter((name) => unnamed(name) !== undefined),
      [],
    );
  });
});
