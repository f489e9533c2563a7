import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);

const loop = (call: string) => `from functools import partial
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

CONFIG = {"model_name": "Qwen/Qwen2.5-1.5B-Instruct"}

def prepare(args, config, batch=1):
    model = AutoModelForCausalLM.from_pretrained(config["model_name"])
    optimizer = torch.optim.AdamW(model.parameters())
    return model, optimizer, DataLoader(rows, batch_size=batch, shuffle=True)

def evaluate(args, config, init_fn):
    model, optimizer, loader = init_fn(args, config)
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

${call}
`;

describe('functions of which a part of the arguments is kept', () => {
  before(loadPython);

  it('are followed where they are called, by name, out of a list or as an argument of another', () => {
    const calls = [
      'for run in [partial(evaluate, init_fn=partial(prepare, batch=8))]:\n    run(None, CONFIG)',
      'run = partial(evaluate, None, init_fn=partial(prepare, batch=8))\nrun(CONFIG)',
      'runs = {"a": partial(partial(evaluate, None), CONFIG)}\nruns["a"](init_fn=partial(prepare, batch=8))',
    ];
    for (const call of calls)
      assertStates(python(loop(call)), {
        'model.id': 'Qwen/Qwen2.5-1.5B-Instruct file',
        'batch.micro': '8 file',
        'optimizer.name': 'adamw file',
      });
  });

  it('may be of a library', () => {
    const made = loop('evaluate(None, CONFIG, prepare)')
      .replace('torch.optim.AdamW(model', 'partial(torch.optim.SGD, lr=0.1)(model')
      .replace('DataLoader(rows, batch_size=batch, shuffle=True)', 'partial(DataLoader, batch_size=5)(rows)');
    assertStates(python(made), { 'batch.micro': '5 file', 'optimizer.name': 'sgd file' });
  });

  it('are followed where a data set is given them', () => {
    const detection = (given: string) => `from functools import partial
from transformers import AutoImageProcessor, AutoModelForObjectDetection, Trainer, TrainingArguments
def transform_batch(examples, image_processor, return_pixel_mask=False):
    result = image_processor(images=examples["image"], return_tensors="pt")
    if not return_pixel_mask:
        result.pop("pixel_mask", None)
    return result
image_processor = AutoImageProcessor.from_pretrained("PekingU/rtdetr_r50vd")
${given}
model = AutoModelForObjectDetection.from_pretrained("PekingU/rtdetr_r50vd")
Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=8), train_dataset=rows).train()
`;
    const partly = 'partial(transform_batch, image_processor=image_processor)';
    for (const given of [
      `rows = load("a").with_transform(${partly})`,
      `rows = load("a")\nrows["train"].set_transform(${partly})`,
      `rows = load("a")["train"].map(${partly}, batched=True)`,
    ])
      assertStates(python(detection(given)), { 'attention.mask': 'false inferred' });
    assertStates(python(detection('rows = load("a")')), { 'attention.mask': 'true inferred' });
  });

  it('are methods that an object hands to others', () => {
    const text = `from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
class Rows:
    def __init__(self, length):
        self.length = length
        self.tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-1.5B-Instruct")
        self.rows = load("a").map(self.tokenize)
    def tokenize(self, row):
        return self.tokenizer(row["text"], truncation=True, padding="max_length", max_length=self.length)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-1.5B-Instruct")
Trainer(model=model, args=TrainingArguments(), train_dataset=Rows(384).rows).train()
`;
    const reading = python(text);
    assertStates(reading, { 'batch.sequence': '384 file' });
    assert.equal(reading.unread, undefined);
  });
});
