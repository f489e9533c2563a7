import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { factOf, read } from './reading';

const script = (
  tokenize: string,
  more = 'args=SFTConfig(max_length=2048)',
) => `from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import SFTConfig, SFTTrainer
tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
def tokenize(samples):
    ${tokenize}
data = load_dataset("xlangai/spider")
data = data.map(tokenize, batched=True)
rows = data["train"].shuffle(seed=1).select(range(100))
SFTTrainer(model=model, train_dataset=rows, ${more}).train()
`;
const FILLED = 'return tokenizer(samples["a"], truncation=True, padding="max_length", max_length=512)';

describe('samples that are brought into tokens before SFTTrainer', () => {
  before(loadPython);

  const lengthOf = (...given: Parameters<typeof script>) => {
    const reading = read('python', 'file:///train.py', script(...given), {});
    const fact = factOf(reading, 'batch.sequence');
    return [fact?.value, fact?.origin.kind];
  };

  it('are as long as the tokenizer makes them', () => {
    assert.deepEqual(lengthOf(FILLED), [512, 'file']);
    assert.deepEqual(lengthOf(FILLED, 'args=TrainingArguments("out"), formatting_func=text'), [512, 'file']);
    const named =
      'ids = tokenizer(samples["a"], truncation=True, max_length=512)\n    return {"input_ids": ids["input_ids"]}';
    assert.deepEqual(lengthOf(named), [512, 'inferred']);
  });

  it('are cut once more to what the trainer keeps', () => {
    assert.deepEqual(lengthOf(FILLED, 'args=SFTConfig(max_length=256)'), [256, 'file']);
    assert.deepEqual(lengthOf(FILLED.replace('512', '4096'), 'args=TrainingArguments("out")')[0], 1024);
  });

  it('fill blocks where the trainer packs them', () => {
    assert.deepEqual(lengthOf(FILLED, 'args=SFTConfig(max_length=2048, packing=True)'), [2048, 'file']);
  });

  it('are the trainer’s own where the file makes texts', () => {
    const texts =
      'return {"text": tokenizer.apply_chat_template(samples["a"], tokenize=False, truncation=True, max_length=512)}';
    assert.deepEqual(lengthOf(texts), [2048, 'file']);
    const other = script(FILLED).replace('train_dataset=rows', 'train_dataset=load_dataset("b")');
    assert.equal(factOf(read('python', 'file:///train.py', other, {}), 'batch.sequence')?.value, 2048);
  });
});
