import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);

const IMPORTS = `import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
`;
const FOUR = 'load_in_4bit=True, bnb_4bit_quant_type="nf4"';
const run = (
  load: string,
  args = '',
) => `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", ${load})
Trainer(model, TrainingArguments("out", per_device_train_batch_size=2${args})).train()
`;

describe('the type that 4-bit weights are multiplied in', () => {
  before(loadPython);

  it('is that of `bnb_4bit_compute_dtype` without mixed precision, in a config or beside it', () => {
    const config = `quantization_config=BitsAndBytesConfig(${FOUR}, bnb_4bit_compute_dtype=torch.half)`;
    assertStates(python(run(config)), { 'precision.compute': 'fp16 file' });
    const beside = `${FOUR}, bnb_4bit_compute_dtype="bfloat16"`;
    assertStates(python(run(beside)), { 'precision.compute': 'bf16 file' });
  });

  it('is fp32 where none is named', () => {
    assertStates(python(run(`quantization_config=BitsAndBytesConfig(${FOUR})`)), {
      'precision.compute': 'fp32 default',
    });
  });

  it('is that of mixed precision where the run has one', () => {
    const config = `quantization_config=BitsAndBytesConfig(${FOUR}, bnb_4bit_compute_dtype=torch.half)`;
    assertStates(python(run(config, ', bf16=True')), { 'precision.compute': 'bf16 file' });
  });

  it('is not known where it is computed', () => {
    const config = `quantization_config=BitsAndBytesConfig(${FOUR}, bnb_4bit_compute_dtype=pick())`;
    const left = python(run(config)).unread ?? [];
    assert.ok(
      left.some(({ text }) => /bnb_4bit_compute_dtype/.test(text)),
      JSON.stringify(left),
    );
  });
});
