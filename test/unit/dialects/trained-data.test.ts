import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (between: string, passes: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=1
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments
raw = load_dataset("glue", "mnli")
tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
def tokenize(rows):
    return tokenizer(rows["premise"], truncation=True, max_length=128)
${between}
model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")
Trainer(model=model, args=TrainingArguments("o"), ${passes}).train()
`;

const lengthOf = async (between: string, passes: string) => {
  const { resolved } = await smallWorkspace({ 'train.py': script(between, passes) }).analyze('train.py');
  return resolved.values['batch.sequence'];
};

const BOUND = 512;

describe('the data set that a trainer gets', () => {
  it('has no length of a tokenizer that another was mapped by', async () => {
    const tokens = 'tokens = raw.map(tokenize, batched=True)';
    assert.equal(await lengthOf(tokens, 'train_dataset=tokens["train"]'), 128);
    assert.equal(
      await lengthOf(tokens, 'train_dataset=tokens["train"].shuffle(seed=1).select(range(9))'),
      128,
    );
    assert.equal(await lengthOf(tokens, 'train_dataset=raw["train"]'), BOUND);
    assert.equal(await lengthOf(tokens, 'train_dataset=raw["train"].shuffle()'), BOUND);
    const two = `${tokens}
def shorten(rows):
    return tokenizer(rows["text"], truncation=True, max_length=64)
small = load_dataset("imdb").map(shorten)`;
    assert.equal(await lengthOf(two, 'train_dataset=small["train"]'), 64);
    assert.equal(await lengthOf(two, 'train_dataset=tokens["train"]'), 128);
  });

  it('may have it where its samples are changed in place, or as they are taken', async () => {
    for (const [between, passes] of [
      ['raw["train"] = raw["train"].map(tokenize)', 'train_dataset=raw["train"]'],
      ['for part in raw:\n    raw[part] = raw[part].map(tokenize)', 'train_dataset=raw["train"]'],
      ['raw["train"].set_transform(tokenize)', 'train_dataset=raw["train"]'],
      ['raw.set_transform(tokenize)', 'train_dataset=raw["train"]'],
      ['tokens = raw.with_transform(tokenize)', 'train_dataset=tokens["train"]'],
      ['', 'train_dataset=raw["train"], data_collator=tokenize'],
      ['tokens = keep(raw.map(tokenize))', 'train_dataset=tokens["train"]'],
    ] as const)
      assert.equal(await lengthOf(between, passes), 128, between + passes);
  });
});
