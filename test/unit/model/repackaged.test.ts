import assert from 'node:assert/strict';
import { findModel } from '../../../server/src/model/catalog';
import { findRepackaged } from '../../../server/src/model/repackaged';

describe('copies of models under other names', () => {
  const cases: readonly (readonly [name: string, model: string | undefined, kind?: string])[] = [
    ['TechxGenus/Meta-Llama-3-8B-Instruct-AWQ', 'Meta-Llama-3-8B-Instruct', 'awq'],
    ['TechxGenus/Meta-Llama-3-8B-Instruct-GPTQ', 'Meta-Llama-3-8B-Instruct', 'gptq'],
    ['hugging-quants/Meta-Llama-3.1-8B-Instruct-GPTQ-INT4', 'Meta-Llama-3.1-8B-Instruct', 'gptq'],
    ['ISTA-DASLab/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16', 'Meta-Llama-3-8B-Instruct', 'aqlm'],
    ['me/Meta-Llama-3.1-8B-bnb-4bit', 'Meta-Llama-3.1-8B', 'nf4'],
    ['hugging-quants/Meta-Llama-3.1-405B-BNB-NF4-BF16', 'Meta-Llama-3.1-405B', 'nf4'],
    ['unsloth/Llama-3.2-1B-Instruct-FP8-Block', 'Llama-3.2-1B-Instruct', 'fp8'],
    ['unsloth/gemma-4-E2B-it-unsloth-bnb-4bit', 'gemma-4-E2B-it', 'nf4'],
    ['axolotl-quants/Llama-4-Scout-17B-16E-Linearized-bnb-nf4-bf16', 'Llama-4-Scout-17B-16E', 'nf4'],
    ['axolotl-ai-co/gpt-oss-120b-dequantized', 'gpt-oss-120b'],
    ['models/Llama-2-7b', 'Llama-2-7b-hf'],
    ['somebody/falcon-7b-sharded-bf16', 'falcon-7b'],
    ['somebody/llama-2-7b-hf-small-shards', 'llama-2-7b-hf'],
    ['somebody/Llama-2-7B-bf16-sharded', 'Llama-2-7b-hf'],
    ['LoftQ/Llama-2-13b-hf-4bit-64rank', 'Llama-2-13b-hf'],
    ['LoftQ/own-model-4bit-64rank', undefined],
    ['somebody/TinyLlama-1.1B-intermediate-step-240k-503b', 'TinyLlama-1.1B-intermediate-step-240k-503b'],
    ['somebody/llama-2-7b-own-sharded', undefined],
    ['Qwen/Qwen-7B-Chat-Int8', 'Qwen-7B-Chat', 'gptq'],
    ['somebody/Qwen2.5-7B', 'Qwen2.5-7B'],
    ['somebody/Llama-3-Base-8B-SFT-mine', undefined],
    ['/model', undefined],
    ['./hub/models--Qwen--Qwen2.5-1.5B/snapshots/8faed761d45a263340a0528343f099c05c9a4323', 'Qwen2.5-1.5B'],
    ['/root/autodl-tmp/Qwen/Qwen2___5-Coder-7B-Instruct/', 'Qwen2.5-Coder-7B-Instruct'],
    ['./LLM-Research/Meta-Llama-3___1-8B-Instruct', 'Meta-Llama-3.1-8B-Instruct'],
    ['models/Qwen2___5-7B-Instruct-GPTQ-Int4', 'Qwen2.5-7B-Instruct', 'gptq'],
    ['me/My___Own', undefined],
    ['hub/models--me--My-Own-Finetune/snapshots/8faed761', undefined],
  ];
  for (const [name, model, kind] of cases) {
    it(`${name}: ${model ?? 'not guessed at'}`, () => {
      const found = findRepackaged(name);
      assert.equal(found?.model.id.toLowerCase(), model?.toLowerCase());
      assert.equal(found?.values['quantization.kind'], kind);
    });
  }

  it('the name of a copy states which type its weights are in', () => {
    assert.equal(findModel('google/flan-t5-small')?.publishedDtype, 'fp32');
    const typeOf = (name: string) => findRepackaged(name)?.model.publishedDtype;
    assert.equal(typeOf('somebody/flan-t5-small-sharded-fp16'), 'fp16');
    assert.equal(typeOf('somebody/flan-t5-small-bf16'), 'bf16');
    assert.equal(typeOf('somebody/flan-t5-small-sharded'), 'fp32');
  });

  it('an owner may keep a model in another form: Unsloth has its Phi in layers of Llama and Mistral', () => {
    assert.equal(findModel('unsloth/Phi-4')?.modelType, 'llama');
    assert.equal(findModel('microsoft/phi-4')?.modelType, 'phi3');
    assert.equal(findModel('phi-4')?.modelType, 'phi3');
    assert.equal(findRepackaged('unsloth/phi-4-unsloth-bnb-4bit')?.model.modelType, 'llama');
    assert.equal(findRepackaged('unsloth/Phi-3-mini-4k-instruct-bnb-4bit')?.model.modelType, 'mistral');
    assert.equal(findRepackaged('somebody/phi-4-awq')?.model.modelType, 'phi3');
  });

  it('some layers of a copy may be in 16 bits: how many, its size tells where it is known', () => {
    const valuesOf = (name: string) => findRepackaged(name)?.values;
    assert.deepEqual(valuesOf('unsloth/Qwen3-14B-unsloth-bnb-4bit'), {
      'quantization.kind': 'nf4',
      'quantization.partial': true,
      'quantization.checkpointBytes': 11_120_000_000,
    });
    assert.deepEqual(valuesOf('models/Qwen3-32B-unsloth-bnb-4bit'), {
      'quantization.kind': 'nf4',
      'quantization.partial': true,
    });
    assert.deepEqual(valuesOf('unsloth/Qwen3-14B-bnb-4bit'), { 'quantization.kind': 'nf4' });
  });
});
