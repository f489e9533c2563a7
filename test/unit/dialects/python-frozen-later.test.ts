import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);
const left = (text: string) => python(text).unread?.map(({ text: words }) => words) ?? [];

const HEAD = `import torch, lightning as L
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
class Tuned(L.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model
    def training_step(self, batch, i):
        return self.model(**batch, labels=batch["y"])["loss"]
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-5)
model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
loader = DataLoader(rows, batch_size=8, shuffle=True)
`;
const FREEZE = 'for p in model.base_model.parameters():\n    p.requires_grad = False\n';
const TRAININGS = [
  'trainer = Trainer(model=model, args=TrainingArguments("a"), train_dataset=rows)\ntrainer.train()\n',
  'L.Trainer(devices=1).fit(Tuned(model), loader)\n',
  `optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`,
];

describe('weights that are frozen after a training', () => {
  before(loadPython);

  it('are trained in it', () => {
    for (const training of TRAININGS) {
      for (const later of [FREEZE, 'model.base_model.requires_grad_(False)\n', 'model.freeze_base_model()\n'])
        assert.deepEqual(left(HEAD + training + later), [], training + later);
      assertStates(python(HEAD + training + FREEZE), { 'method.kind': 'full default' });
    }
  });

  it('are frozen in those that come then', () => {
    for (const training of TRAININGS)
      assert.deepEqual(left(HEAD + FREEZE + training), ['requires_grad'], training);
    const [first = ''] = TRAININGS;
    const between = first.replace('trainer.train()', `${FREEZE}trainer.train()`);
    assert.deepEqual(left(HEAD + between), ['requires_grad']);
    const inLoop = `${HEAD}optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(3):
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
    ${FREEZE.replace('\n    ', '\n        ')}`;
    assert.deepEqual(left(inLoop), ['requires_grad']);
  });
});

describe('a config of quantization beside a checkpoint that is quantized so', () => {
  before(loadPython);

  const load = (
    model: string,
    config: string,
  ) => `from transformers import AutoModelForCausalLM, AwqConfig, GPTQConfig, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("${model}", quantization_config=${config})
Trainer(model=model, args=TrainingArguments("a"), train_dataset=rows).train()
`;

  it('quantizes nothing anew', () => {
    assert.deepEqual(left(load('TheBloke/Llama-2-7B-GPTQ', 'GPTQConfig(bits=4, use_exllama=False)')), []);
    assert.deepEqual(left(load('Qwen/Qwen2.5-7B-Instruct-AWQ', 'AwqConfig(bits=4)')), []);
    assert.deepEqual(left(load('meta-llama/Llama-2-7b-hf', 'GPTQConfig(bits=4, dataset="c4")')), [
      'quantization_config=GPTQConfig',
    ]);
    assert.deepEqual(left(load('TheBloke/Llama-2-7B-GPTQ', 'AwqConfig(bits=4)')), [
      'quantization_config=AwqConfig',
    ]);
  });
});
