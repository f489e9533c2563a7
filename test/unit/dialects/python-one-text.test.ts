import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);

const loop = (texts: string, each = 'for text in texts:', given = 'text') => `import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-1.5B-Instruct")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-1.5B-Instruct")
optimizer = torch.optim.AdamW(model.parameters())
${texts}
def step(given):
    inputs = tokenizer(given, return_tensors="pt", truncation=True, max_length=128)
    return model(**inputs, labels=inputs["input_ids"]).loss
for epoch in range(3):
    ${each}
        loss = step(${given})
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
`;
const many = Array.from({ length: 12 }, (_, i) => `"text ${i}"`).join(', ');
const gathered = (item: string) => `rows = [${many}]
texts = []
for row in rows:
    if len(tokenizer(row)) < 128:
        texts.append(${item})
        if len(texts) >= 100:
            break`;

describe('loops over texts', () => {
  before(loadPython);

  it('give the model one sample a step', () => {
    const one = (text: string) => assertStates(python(text), { 'batch.micro': '1 file' });
    one(loop('texts = ["a", "b", "c"]'));
    one(loop(`texts = [${many}]`));
    one(loop(`texts = (${many})`, 'for i, text in enumerate(texts):'));
    one(loop(`texts = [${many}]\nother = [${many}]`, 'for text, more in zip(texts, other):', 'text + more'));
    one(loop('rows = load("a")', 'for row in rows:', 'f"Q: {row[0]}"'));
    one(loop(gathered('f"Q: {row}"')));
    one(loop(gathered('row + "."')));
  });

  it('are not loops over what nobody knows', () => {
    const unknown = (text: string) => assertStates(python(text), { 'batch.micro': undefined });
    unknown(loop('texts = load("a")'));
    unknown(loop(gathered('clean(row)')));
    unknown(loop(`${gathered('row')}\nfor more in load("a"):\n    texts.append(more)`));
    unknown(loop('texts = ["a", "b", "c"]').replace('return_tensors="pt", ', ''));
    unknown(
      loop('texts = ["a", "b", "c"]').replace(
        '    return model',
        '    inputs = tokenizer.pad(queue)\n    return model',
      ),
    );
  });
});
