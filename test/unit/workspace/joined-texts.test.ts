import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (row: string) => `from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
def row_of(example):
${row.replace(/^/gm, '    ')}
rows = load_dataset("x")["train"].map(row_of)
Trainer(model, TrainingArguments("o", per_device_train_batch_size=1), train_dataset=rows).train()
`;
const CUT = `question = tokenizer(example["q"], truncation=True, max_length=1024)
answer = tokenizer(example["a"], truncation=True, max_length=512)
`;
const END = '\nreturn {"input_ids": input_ids, "labels": input_ids}';

async function sequence(row: string) {
  const { resolved } = await smallWorkspace({ 'train.py': script(row) }).analyze('train.py');
  const origin = resolved.origins['batch.sequence'];
  assert.ok(origin === undefined || origin.guess === true);
  return resolved.values['batch.sequence'];
}

describe('texts that are cut each by itself and put together', () => {
  it('make a row as long as all of them', async () => {
    for (const joined of [
      'input_ids = question["input_ids"] + answer["input_ids"] + [tokenizer.eos_token_id]',
      'input_ids = [tokenizer.bos_token_id] + question.input_ids + answer.input_ids',
    ])
      assert.equal(await sequence(CUT + joined + END), 1536, joined);
    const encoded = CUT.replaceAll('tokenizer(', 'tokenizer.encode(');
    assert.equal(await sequence(`${encoded}input_ids = question + answer${END}`), 1536);
  });

  it('make one of a length that nobody tells where one of them is not cut', async () => {
    const open = CUT.replace(', max_length=512', '').replace(
      'truncation=True)\n',
      'add_special_tokens=False)\n',
    );
    assert.equal(
      await sequence(`${open}input_ids = question["input_ids"] + answer["input_ids"]${END}`),
      undefined,
    );
  });

  it('are cut again with the row', async () => {
    const again = 'if len(input_ids) > 700:\n    input_ids = input_ids[:700]';
    const joined = `input_ids = question["input_ids"] + answer["input_ids"]\n${again}`;
    assert.equal(await sequence(CUT + joined + END), 700);
  });

  it('are as long as the longest where nothing puts them together', async () => {
    const apart = 'input_ids = question["input_ids"]\nlabels = len(answer["input_ids"]) * [-100]';
    assert.equal(await sequence(CUT + apart + END), 1024);
  });
});
