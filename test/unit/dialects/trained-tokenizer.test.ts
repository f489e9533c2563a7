import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (teacher: string, passes: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=1
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments
def labels_of(teacher_path, texts):
    model = AutoModelForSequenceClassification.from_pretrained(teacher_path).cuda()
    tokenizer = AutoTokenizer.from_pretrained(teacher_path)
    encodings = tokenizer(texts, padding=True, truncation="only_first", max_length=77, return_tensors="pt")
    with torch.no_grad():
        return model(**encodings).logits.cpu()
labels = labels_of("${teacher}", texts)
model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")
tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
dataset = dataset.map(tokenizer, input_columns="text")
Trainer(model=model, ${passes}args=TrainingArguments("o"), train_dataset=dataset).train()
`;

const lengthOf = async (teacher: string, passes: string) => {
  const { resolved } = await smallWorkspace({ 'train.py': script(teacher, passes) }).analyze('train.py');
  return resolved.values['batch.sequence'];
};

describe('a tokenizer of another model', () => {
  it('cuts no samples that are trained on', async () => {
    for (const passes of ['tokenizer=tokenizer, ', 'data_collator=DataCollatorWithPadding(tokenizer), ', ''])
      assert.equal(await lengthOf('roberta-large-mnli', passes), 512, passes);
    // One of the same name may.
    assert.equal(await lengthOf('distilbert-base-uncased', 'tokenizer=tokenizer, '), 77);
  });
});
