import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import { pythonRun } from '../../../server/src/dialects/python/python-run';
import { factOf } from './reading';

const CONFIG = { model_type: 'gemma3', vision_config: {}, text_config: {} };
const imagesOf = (text: string) => {
  const context = { known: {}, model: { config: CONFIG } };
  return factOf(pythonRun.read(parseConfig('file:///train.py', text), context), 'batch.images')?.value;
};

const HEAD = `from transformers import AutoTokenizer, AutoProcessor, DataCollatorForSeq2Seq, Gemma3ForConditionalGeneration, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
import torch
tokenizer = AutoTokenizer.from_pretrained("google/gemma-3-4b-it")
model = Gemma3ForConditionalGeneration.from_pretrained("google/gemma-3-4b-it")
`;
const trainer = (rows: string, collator = 'DataCollatorForSeq2Seq(tokenizer=tokenizer, padding=True)') =>
  `${HEAD}def rows(example):
    ids = tokenizer(example["text"])
    return {"input_ids": ids["input_ids"]${rows}}
Trainer(model, TrainingArguments("out"), train_dataset=data.map(rows), data_collator=${collator}).train()
`;
const loop = (call: string) => `${HEAD}optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in torch.utils.data.DataLoader(data, batch_size=4):
    loss = model(${call}).loss
    loss.backward()
    optimizer.step()
`;

describe('texts for a model that could see', () => {
  before(loadPython);

  it('hold no images where a tokenizer makes the samples', () => {
    assert.equal(imagesOf(trainer('')), 0);
    assert.equal(
      imagesOf(`${HEAD}SFTTrainer(model, args=SFTConfig(), processing_class=tokenizer).train()`),
      0,
    );
    assert.equal(imagesOf(loop('input_ids=batch["input_ids"], labels=batch["labels"]')), 0);
    const named = trainer('').replaceAll('Gemma3ForConditionalGeneration', 'AutoModelForImageTextToText');
    assert.equal(imagesOf(named), 0, 'the class of the model is no image');
  });

  it('may hold images where the code names them, prepares them, or collates samples itself', () => {
    assert.equal(imagesOf(trainer(', "pixel_values": 1')), undefined);
    assert.equal(imagesOf(trainer('', 'collate')), undefined);
    assert.equal(imagesOf(`${HEAD}SFTTrainer(model, args=SFTConfig()).train()`), undefined);
    const processor = 'processor = AutoProcessor.from_pretrained("google/gemma-3-4b-it")\n';
    assert.equal(imagesOf(trainer('').replace('def rows', `${processor}def rows`)), undefined);
    assert.equal(imagesOf(loop('**batch')), undefined);
    assert.equal(imagesOf(loop('input_ids=batch["a"], pixel_values=batch["b"]')), undefined);
  });
});
