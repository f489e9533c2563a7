import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);

const tuned = (hooks: string, made: string, fit: string, more = '') => `import torch
import lightning as L
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

class Tuned(L.LightningModule):
    def __init__(self, name="meta-llama/Llama-2-7b-hf", batch_size=6, **kwargs):
        super().__init__()
        self.save_hyperparameters()
        self.size = batch_size
        self.model = AutoModelForCausalLM.from_pretrained(name)

    def training_step(self, batch, index):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)
${hooks}
${more}
trainer = L.Trainer(devices=1)
trainer.fit(${made}${fit})
`;
const data = (bases: string) => `
class Texts(${bases}):
    def __init__(self, batch_size=3, length=256):
        super().__init__()
        self.save_hyperparameters("batch_size")
        self.length = length

    def setup(self, stage=None):
        tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
        if stage == "fit" or stage is None:
            self.rows = load("x").map(lambda row: tokenizer(row, truncation=True, padding="max_length", max_length=self.length))

    def val_dataloader(self):
        return DataLoader(self.held, batch_size=50, shuffle=True)

    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=self.hparams.batch_size)
`;
const hook = (size: string) => `
    def val_dataloader(self):
        return DataLoader(self.held, shuffle=True, batch_size=50)
    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=${size})
`;

describe('data of modules that Lightning trains', () => {
  before(loadPython);

  it('comes from `train_dataloader` of the module, by what its constructor was given', () => {
    const states = (hooks: string, made: string, micro: string) =>
      assertStates(python(tuned(hooks, made, '')), { 'batch.micro': micro });
    states(hook('32'), 'Tuned()', '32 file');
    states(hook('self.hparams.batch_size'), 'Tuned()', '6 file');
    states(hook('self.hparams.batch_size'), 'Tuned(batch_size=12)', '12 file');
    states(hook('self.hparams["batch_size"]'), 'Tuned(batch_size=12)', '12 file');
    states(hook('self.size'), 'Tuned(batch_size=5)', '5 file');
  });

  it('comes from a data module, whose hooks prepare it', () => {
    const fits = ['datamodule=Texts(batch_size=7)', 'Texts(batch_size=7)', 'None, None, Texts(batch_size=7)'];
    for (const fit of fits)
      assertStates(python(tuned('', 'Tuned()', `, ${fit}`, data('L.LightningDataModule'))), {
        'batch.micro': '7 file',
        'batch.sequence': '256 file',
      });
    const plain = python(tuned(hook('32'), 'Tuned()', ', datamodule=Texts()', data('L.LightningDataModule')));
    assertStates(plain, { 'batch.micro': '3 file' });
  });

  it('is that of a loader which the trainer is given, before its own hooks', () => {
    const given = ', DataLoader(rows, batch_size=2)';
    assertStates(python(tuned(hook('32'), 'Tuned()', given)), { 'batch.micro': '2 file' });
    const many = ', train, other';
    const loaders =
      'other = DataLoader(held, shuffle=True, batch_size=9)\ntrain = DataLoader(rows, batch_size=4)';
    assertStates(python(tuned('', 'Tuned()', many, loaders)), { 'batch.micro': '4 file' });
  });
});
