import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read, stated } from './reading';

const load = (
  bits: string,
) => `from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", ${bits})
Trainer(model, TrainingArguments("out", per_device_train_batch_size=2)).train()
`;
const python = (text: string) => read('python', 'file:///train.py', text);

describe('bits of bitsandbytes as arguments of `from_pretrained`', () => {
  before(loadPython);

  it('are of transformers 4, which takes them', () => {
    for (const bits of ['load_in_8bit=True', 'load_in_4bit=True'])
      assertStates(python(load(bits)), { 'version.transformers': '4.57.6 inferred' });
  });

  it('tell of no release in a config', () => {
    const config = python(load('quantization_config=BitsAndBytesConfig(load_in_8bit=True)'));
    assert.equal(stated(config, 'version.transformers'), undefined);
  });
});
